//! The rows of the threat table that concern connections, each a test named after its row, by table:
//! A before authentication, B parsing and memory, C authenticated but hostile, E faults and recovery.
//! Rows about tokens, cookies, floods and resets are in the tests of `secure`.
#![cfg(feature = "secure")]

mod a_before_authentication;
mod b_parsing_and_memory;
mod bodies;
mod c_authenticated_but_hostile;
mod e_faults_and_recovery;
mod town;
