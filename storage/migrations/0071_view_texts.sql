-- What the views were made of, and what was there then: a start leaves them where both still hold.
CREATE TABLE raw.view_texts (made_of VARCHAR, standing VARCHAR);
