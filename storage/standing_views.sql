-- The views and macros in the catalog as one checksum. Names only, because DuckDB rewrites view texts when it reads
-- them from the file.
SELECT md5(string_agg(text, chr(10) ORDER BY text)) FROM (
    SELECT concat_ws(' ', table_name, column_name, data_type, comment) AS text
    FROM duckdb_columns() WHERE NOT internal AND schema_name = 'main'
    UNION ALL
    SELECT concat_ws(' ', function_name, parameters) FROM duckdb_functions()
    WHERE NOT internal AND schema_name = 'main' AND function_type IN ('macro', 'table_macro')
)
