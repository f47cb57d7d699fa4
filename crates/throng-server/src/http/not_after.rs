//! The end of a certificate, which is all that is read of it here.
//!
//! ```text
//! Certificate     SEQUENCE { tbsCertificate, … }
//! tbsCertificate  SEQUENCE { [0] version?, serial, algorithm, issuer, validity, … }
//! validity        SEQUENCE { notBefore, notAfter }        UTCTime or GeneralizedTime, in UTC
//! ```

use std::time::UNIX_EPOCH;

/// The time after which a certificate in DER is void, in seconds since 1970. None for anything that
/// is no certificate of RFC 5280.
pub fn not_after(certificate: &[u8]) -> Option<u64> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut rest, _) = element(certificate)?;
    if *rest.first()? == VERSION {
        (_, _, rest) = element(rest)?;
    }
    for _serial_algorithm_issuer in 0..3 {
        (_, _, rest) = element(rest)?;
    }
    let (_, validity, _) = element(rest)?;
    let (_, _, rest) = element(validity)?;
    let (tag, time, _) = element(rest)?;
    let time = std::str::from_utf8(time).ok().filter(|time| time.is_ascii())?;
    let time = match tag {
        // Two digits of a year are those of 1950 to 2049.
        UTC_TIME if time < "5" => format!("20{time}"),
        UTC_TIME => format!("19{time}"),
        GENERALIZED_TIME => time.to_owned(),
        _ => return None,
    };
    if time.len() != "20260131235959Z".len() {
        return None;
    }
    let (date, clock) = time.split_at(8);
    let (year, month, day) = (&date[..4], &date[4..6], &date[6..]);
    let (hour, minute, second) = (&clock[..2], &clock[2..4], &clock[4..]);
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}");
    let time = humantime::parse_rfc3339(&text).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// The tag of the element that bytes begin with, its content, and what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match *first {
        short @ 0..0x80 => (usize::from(short), rest),
        long => {
            let (digits, rest) = rest.split_at_checked(usize::from(long - 0x80))?;
            if digits.len() > 4 {
                return None;
            }
            let length = digits.iter().fold(0_u64, |sum, digit| sum << 8 | u64::from(*digit));
            (usize::try_from(length).ok()?, rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    #[test]
    fn the_end_is_that_of_the_certificate_and_nonsense_has_none() {
        let key = KeyPair::generate().unwrap();
        // The second of these is a GeneralizedTime, the others are UTCTimes.
        for (year, seconds) in [
            (2031, 1_924_992_000),
            (2051, 2_556_144_000),
            (1971, 31_536_000),
            (2049, 2_493_072_000),
        ] {
            let mut parameters = CertificateParams::new(vec!["north.example".into()]).unwrap();
            parameters.not_before = date_time_ymd(1970, 1, 1);
            parameters.not_after = date_time_ymd(year, 1, 1);
            let certificate = parameters.self_signed(&key).unwrap();
            let der = certificate.der();
            assert_eq!(not_after(der), Some(seconds), "{year}");
            for length in 0..der.len() {
                assert_eq!(not_after(&der[..length]), None, "{length} bytes");
            }
        }
        for nonsense in [&b""[..], b"\x30", b"\x30\x80", b"\x30\x84\xff\xff\xff\xff", &[0xa0; 64]] {
            assert_eq!(not_after(nonsense), None);
        }
    }
}
