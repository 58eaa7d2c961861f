"""The demo from its button to its answer: started in rounds, watched on Live, ended on Compare."""
