//! Columns of Parquet files, where the build reads them.
#![cfg(feature = "parquet")]

use assert_cmd::Command;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

#[test]
fn a_column_of_a_parquet_file_is_simulated() {
    let file = std::env::temp_dir().join(format!("throng-{}.parquet", std::process::id()));
    let schema = "message users { REQUIRED INT32 yes; REQUIRED BYTE_ARRAY colour (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let target = std::fs::File::create(&file).unwrap();
    let mut writer = SerializedFileWriter::new(target, schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let bits: Vec<i32> = (0..3_000).map(|i| i32::from(i % 3 == 0)).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int32Type>().write_batch(&bits, None, None).unwrap();
    column.close().unwrap();
    let colours: Vec<ByteArray> =
        (0..3_000).map(|i| ByteArray::from(["red", "green", "blue"][i % 3])).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&colours, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();

    for (mechanism, column) in [("bit-sum", "yes"), ("additive-histogram", "colour")] {
        let line = format!(
            "simulate {mechanism} --values {} --column {column} --repeat 5 --seed 1 --json",
            file.display()
        );
        let output = Command::cargo_bin("throng").unwrap().args(line.split(' ')).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["n"], 3_000);
        assert!(answer["rmse"].as_f64().unwrap() < 30.0, "{answer}");
    }
    std::fs::remove_file(&file).unwrap();
}
