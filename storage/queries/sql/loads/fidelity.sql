-- The answers of the runs' fidelity loads, in the order of their requests.
FROM fidelity_of($run_ids) ORDER BY ts
