"""Evidence from the client's records of a load: sequential streams, concurrent requests, single requests.

`loads` orders the records, `steady` finds the part of a phase under full load, `factors` splits a speed by the engine's
counters, `objectives` defines what a comparison measures, `measure` computes one load's value of it.
"""
