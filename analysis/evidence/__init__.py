"""What the client's records of a load say: of streams one after the other, of requests side by side, of each request.

`loads` puts the records in order, `steady` finds the part of a phase that is under full load, `factors` splits a speed
by the engine's counters, `objectives` says what a comparison is about, `measure` takes one load's value of it.
"""
