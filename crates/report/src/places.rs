//! Where the tables of one answer go if each has a sheet or a file of its own.

use gpuscope_table::Table;

/// A name for each table: its own, with a number where an answer has several of that name.
pub fn places(tables: &[Table]) -> Vec<String> {
    let place = |(i, table): (usize, &Table)| {
        let before = tables[..i].iter().filter(|other| other.name == table.name).count();
        if before == 0 { table.name.to_owned() } else { format!("{}_{}", table.name, before + 1) }
    };
    tables.iter().enumerate().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_one_name_have_places_of_their_own() {
        let tables =
            ["devices", "ranks", "devices", "devices"].map(|name| Table::of(name, "", &[()]).build());
        assert_eq!(places(&tables), ["devices", "ranks", "devices_2", "devices_3"]);
    }
}
