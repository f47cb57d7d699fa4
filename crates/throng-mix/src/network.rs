//! A network of addresses, as operators write it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address, or all addresses that begin with the same bits.
///
/// ```
/// use throng_mix::Network;
///
/// let network = Network::parse("10.0.0.0/8").unwrap();
/// assert!(network.contains([10, 1, 2, 3].into()) && !network.contains([11, 1, 2, 3].into()));
/// let one = Network::parse("10.0.0.1").unwrap();
/// assert!(one.contains([10, 0, 0, 1].into()) && !one.contains([10, 0, 0, 2].into()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    bits: u8,
}

impl Network {
    /// Reads an address, or the first address of a network and the number of bits that its
    /// addresses have in common, such as `10.0.0.0/8`.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address = address.parse::<IpAddr>().ok()?.to_canonical();
        let all = width(address);
        let bits = bits.map_or(Some(all), |bits| bits.parse().ok())?;
        let network = Self::around(address, bits);
        (bits <= all && network.first == address).then_some(network)
    }

    /// The network of an address whose first `bits` are given, or all of them if it has fewer.
    pub fn around(address: IpAddr, bits: u8) -> Self {
        let address = address.to_canonical();
        let bits = bits.min(width(address));
        let first = match address {
            IpAddr::V4(v4) => {
                let kept = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                Ipv4Addr::from_bits(v4.to_bits() & kept).into()
            }
            IpAddr::V6(v6) => {
                let kept = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                Ipv6Addr::from_bits(v6.to_bits() & kept).into()
            }
        };
        Self { first, bits }
    }

    /// True if the address is one of this network. An IPv4 address that is written as an IPv6 one
    /// is the same address.
    pub fn contains(&self, address: IpAddr) -> bool {
        Self::around(address, self.bits) == *self
    }

    /// The first address.
    pub fn first(&self) -> IpAddr {
        self.first
    }
}

/// The number of bits of an address.
fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_that_begin_like_it() {
        for (network, address, inside) in [
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("127.0.0.1", "::ffff:127.0.0.1", true),
            ("192.168.4.0/22", "192.168.7.255", true),
            ("192.168.4.0/22", "192.168.8.0", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/56", "2001:db8:0:ff::1", true),
            ("2001:db8::/56", "2001:db8:0:100::1", false),
            ("::/0", "203.0.113.9", false),
        ] {
            let network = Network::parse(network).unwrap();
            assert_eq!(network.contains(address.parse().unwrap()), inside, "{address}");
        }
    }

    #[test]
    fn a_text_that_means_no_network_is_refused() {
        for text in ["", "localhost", "10.0.0.1/8", "10.0.0.0/33", "::/129", "10.0.0.0/", "1/8"] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
