// What the editor colours and completes besides views and columns: DuckDB's own words in a SELECT. Its other words begin
// statements that the page refuses, or are names of columns here. tests/web/sql/test_editor_words.py asks DuckDB for them.

export const KEYWORDS = `
  all analyse analyze and anti any as asc asof asymmetric at authorization between both by case cast character check
  coalesce collate collation column columns concurrently constraint create cross current day default deferrable desc
  describe distinct do else end except exclude exists explain extract false fetch filter first following for foreign
  freeze from full generated glob group grouping grouping_id having hour ignore ilike in initially inner inout
  intersect into is isnull join lambda last lateral leading left like limit materialized minute month national natural
  nchar none not notnull null nullif nulls offset on only or order out outer over overlaps overlay partition pivot
  pivot_longer pivot_wider placing position positional preceding precision primary qualify range recursive references
  replace respect returning right row rows sample second select semi setof show similar some substring summarize
  symmetric table tablesample then to trailing treat trim true try_cast unique unpack unpivot using values variadic
  verbose when where window with within xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse
  xmlpi xmlroot xmlserialize xmltable year
`;
export const TYPES = `
  array bigint bignum binary bit bitstring blob bool boolean bpchar bytea char date datetime dec decimal double enum
  float float4 float8 geometry guid hugeint int int1 int128 int16 int2 int32 int4 int64 int8 integer integral interval
  json list logical long map numeric nvarchar oid real short signed smallint string struct text time time_ns timestamp
  timestamp_ms timestamp_ns timestamp_s timestamp_us timestamptz timetz tinyint type ubigint uhugeint uint128 uint16
  uint32 uint64 uint8 uinteger union usmallint utinyint uuid varbinary varchar variant varint
`;
