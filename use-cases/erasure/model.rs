//! What writes with a Reed-Solomon code must leave: data on the data nodes, sums of products in GF(2^8) on the parity nodes.

/// Bytes of a chunk: other ones for each data node, write and round.
pub fn chunk(bytes: usize, node: usize, write: usize, round: usize) -> Vec<u8> {
    let seed = (node * 131 + write * 29 + round * 61 + 17) as u32;
    (0..bytes as u32).map(|i| (i.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// GF(2^8) with polynomial 0x11d, by logarithms to the base 2.
struct Field {
    power: [u8; 255],
    log: [usize; 256],
}

impl Field {
    fn new() -> Field {
        let (mut power, mut log) = ([0; 255], [0; 256]);
        let mut value = 1_u32;
        for (exponent, power) in power.iter_mut().enumerate() {
            *power = value as u8;
            log[value as usize] = exponent;
            value <<= 1;
            if value > 0xff {
                value ^= 0x11d;
            }
        }
        Field { power, log }
    }

    fn times(&self, a: u8, b: u8) -> u8 {
        match a == 0 || b == 0 {
            true => 0,
            false => self.power[(self.log[usize::from(a)] + self.log[usize::from(b)]) % 255],
        }
    }

    /// Of a number that is not zero.
    fn inverse(&self, a: u8) -> u8 {
        self.power[(255 - self.log[usize::from(a)]) % 255]
    }
}

/// Coefficients by parity node and data node: a Cauchy matrix, 1 / (x + y) with distinct x and y, of which every square part can be
/// inverted. Below an identity matrix it is a generator of which any `data` rows can be inverted.
pub fn coefficients(data: usize, parity: usize) -> Vec<Vec<u8>> {
    let field = Field::new();
    (0..parity).map(|j| (0..data).map(|i| field.inverse(((data + j) ^ i) as u8)).collect()).collect()
}

/// The parity of chunks with these coefficients.
pub fn parity(coefficients: &[u8], chunks: &[&[u8]]) -> Vec<u8> {
    let field = Field::new();
    let sum = |at: usize| coefficients.iter().zip(chunks).fold(0, |sum, (c, chunk)| sum ^ field.times(*c, chunk[at]));
    (0..chunks[0].len()).map(sum).collect()
}

/// Bytes of a chunk in the pieces whose number has this remainder by the number of clusters.
pub fn share(chunk: usize, piece: usize, class: usize, clusters: usize) -> usize {
    (0..chunk).filter(|at| at / piece % clusters == class).count()
}

/// The acknowledgement of a write: its number, and the bytes that are in memory.
pub fn acknowledgement(write: usize, bytes: usize) -> Vec<u8> {
    [(write as u32).to_le_bytes(), (bytes as u32).to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::{chunk, coefficients, parity, Field};

    /// The data of `rows * data = values` by Gauss and Jordan; `None` if the rows cannot be inverted.
    fn solve(mut rows: Vec<Vec<u8>>, mut values: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
        let (field, size) = (Field::new(), rows.len());
        for column in 0..size {
            let pivot = (column..size).find(|row| rows[*row][column] != 0)?;
            rows.swap(column, pivot);
            values.swap(column, pivot);
            let factor = field.inverse(rows[column][column]);
            for value in rows[column].iter_mut().chain(&mut values[column]) {
                *value = field.times(*value, factor);
            }
            for row in (0..size).filter(|row| *row != column) {
                let factor = rows[row][column];
                for table in [&mut rows, &mut values] {
                    let from = table[column].clone();
                    for (to, from) in table[row].iter_mut().zip(from) {
                        *to ^= field.times(factor, from);
                    }
                }
            }
        }
        Some(values)
    }

    #[test]
    fn any_k_nodes_have_the_data() {
        for (data, nodes) in [(3, 5), (6, 9)] {
            let chunks: Vec<Vec<u8>> = (0..data).map(|node| chunk(5, node, 1, 2)).collect();
            let refs: Vec<&[u8]> = chunks.iter().map(|chunk| &chunk[..]).collect();
            let unit = |node: usize| (0..data).map(|i| u8::from(i == node)).collect::<Vec<u8>>();
            let coefficients = coefficients(data, nodes - data);
            let mut choices = 0;
            for choice in 0_u32..1 << nodes {
                if choice.count_ones() as usize != data {
                    continue;
                }
                let chosen = (0..nodes).filter(|node| choice >> node & 1 == 1);
                let (rows, values) = chosen
                    .map(|node| match node.checked_sub(data) {
                        None => (unit(node), chunks[node].clone()),
                        Some(j) => (coefficients[j].clone(), parity(&coefficients[j], &refs)),
                    })
                    .unzip();
                assert_eq!(solve(rows, values).as_ref(), Some(&chunks), "nodes {choice:#b}");
                choices += 1;
            }
            assert_eq!(choices, if data == 3 { 10 } else { 84 });
        }
    }

    #[test]
    fn a_matrix_with_two_equal_rows_is_not_inverted() {
        assert_eq!(solve(vec![vec![1, 2], vec![1, 2]], vec![vec![1], vec![1]]), None);
    }

    #[test]
    fn products_are_those_of_shifts_and_sums() {
        let shifted = |mut a: u32, b: u32| {
            let mut product = 0;
            for bit in 0..8 {
                product ^= if b >> bit & 1 == 1 { a } else { 0 };
                a = a << 1 ^ if a & 0x80 == 0 { 0 } else { 0x11d };
            }
            product
        };
        let field = Field::new();
        for (a, b) in (0..=255).flat_map(|a| (0..=255).map(move |b| (a, b))) {
            assert_eq!(u32::from(field.times(a, b)), shifted(u32::from(a), u32::from(b)), "{a} {b}");
        }
    }
}
