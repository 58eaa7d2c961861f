SELECT study_id, title, question, state, answer, winner, runs FROM studies ORDER BY study_id
