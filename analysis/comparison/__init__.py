"""The comparison of arms: what makes an arm and a start, how arms differ, and the answer about two."""
