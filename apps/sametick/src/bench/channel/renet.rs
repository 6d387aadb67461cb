//! renet 2 over netcode, joined by hand as its own transport joins them, without the sockets.

use super::{Exchange, Spent};
use anyhow::{Context, ensure};
use renet::{ConnectionConfig, DefaultChannel, RenetClient, RenetServer};
use renetcode::{
    ClientAuthentication, ConnectToken, NetcodeClient, NetcodeServer, ServerAuthentication,
    ServerConfig, ServerResult,
};
use sametick::Time;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_micros(super::TICK.as_micros());
const CLIENT: u64 = 1;
const PROTOCOL: u64 = 7;
const KEY: [u8; 32] = [7; 32];
const CHANNEL: DefaultChannel = DefaultChannel::Unreliable;

/// A server with one client.
pub(super) struct Pair {
    server: RenetServer,
    server_seal: NetcodeServer,
    client: RenetClient,
    client_seal: NetcodeClient,
    address: SocketAddr,
    /// A payload and its acknowledgements are packets of their own.
    datagrams: Vec<Vec<u8>>,
}

impl Pair {
    /// Goes through a whole handshake.
    pub(super) fn connect() -> anyhow::Result<Self> {
        let address = SocketAddr::from(([10, 0, 1, 1], 4000));
        let public_addresses = vec![SocketAddr::from(([10, 0, 0, 1], 5000))];
        let mut server_seal = NetcodeServer::new(ServerConfig {
            current_time: Duration::ZERO,
            max_clients: 1,
            protocol_id: PROTOCOL,
            public_addresses: public_addresses.clone(),
            authentication: ServerAuthentication::Secure { private_key: KEY },
        });
        let zero = Duration::ZERO;
        let token =
            ConnectToken::generate(zero, PROTOCOL, 3600, CLIENT, 15, public_addresses, None, &KEY);
        let connect_token = token.context("netcode makes no token")?;
        let authentication = ClientAuthentication::Secure { connect_token };
        let mut client_seal =
            NetcodeClient::new(zero, authentication).context("netcode has no client")?;
        for _ in 0..8 {
            let Some((sent, _)) = client_seal.update(Duration::from_millis(300)) else { continue };
            match server_seal.process_packet(address, &mut sent.to_vec()) {
                ServerResult::PacketToSend { payload, .. }
                | ServerResult::ClientConnected { payload, .. } => {
                    client_seal.process_packet(&mut payload.to_vec());
                }
                _ => {}
            }
        }
        ensure!(client_seal.is_connected(), "netcode does not connect");
        let mut server = RenetServer::new(ConnectionConfig::default());
        server.add_connection(CLIENT);
        let mut client = RenetClient::new(ConnectionConfig::default());
        client.set_connected();
        let datagrams = Vec::new();
        Ok(Self { server, server_seal, client, client_seal, address, datagrams })
    }

    fn send_up(&mut self, payload: &[u8]) -> usize {
        self.client.send_message(CHANNEL, payload.to_vec());
        let mut sent = 0;
        for packet in self.client.get_packets_to_send() {
            let Ok((_, sealed)) = self.client_seal.generate_payload_packet(&packet) else {
                continue;
            };
            keep(&mut self.datagrams, sent, sealed);
            sent += 1;
        }
        sent
    }

    fn receive_up(&mut self, count: usize) {
        for datagram in &mut self.datagrams[..count] {
            let result = self.server_seal.process_packet(self.address, datagram);
            if let ServerResult::Payload { client_id, payload } = result {
                let _ = self.server.process_packet_from(payload, client_id);
            }
        }
    }

    fn send_down(&mut self, payload: &[u8]) -> usize {
        self.server.send_message(CLIENT, CHANNEL, payload.to_vec());
        let mut sent = 0;
        for packet in self.server.get_packets_to_send(CLIENT).unwrap_or_default() {
            let sealed = self.server_seal.generate_payload_packet(CLIENT, &packet);
            let Ok((_, sealed)) = sealed else { continue };
            keep(&mut self.datagrams, sent, sealed);
            sent += 1;
        }
        sent
    }

    fn receive_down(&mut self, count: usize) {
        for datagram in &mut self.datagrams[..count] {
            if let Some(packet) = self.client_seal.process_packet(datagram) {
                self.client.process_packet(packet);
            }
        }
    }
}

impl Exchange for Pair {
    fn tick(&mut self, _now: Time, up: &[u8], down: &[u8], spent: &mut Spent) -> bool {
        let (mut came_up, mut came_down) = (false, false);
        let began = Instant::now();
        self.client.update(TICK);
        let mut is_quiet = self.client_seal.update(TICK).is_none();
        let advanced = Instant::now();
        let datagrams_up = self.send_up(up);
        let sent = Instant::now();
        self.receive_up(datagrams_up);
        while let Some(payload) = self.server.receive_message(CLIENT, CHANNEL) {
            came_up = payload == up;
        }
        spent.add([began, advanced, sent, Instant::now()]);

        let began = Instant::now();
        self.server.update(TICK);
        self.server_seal.update(TICK);
        is_quiet &= matches!(self.server_seal.update_client(CLIENT), ServerResult::None);
        while self.server.get_event().is_some() {}
        let advanced = Instant::now();
        let datagrams_down = self.send_down(down);
        let sent = Instant::now();
        self.receive_down(datagrams_down);
        while let Some(payload) = self.client.receive_message(CHANNEL) {
            came_down = payload == down;
        }
        spent.add([began, advanced, sent, Instant::now()]);
        spent.datagrams += (datagrams_up + datagrams_down) as u64;
        is_quiet && came_up && came_down
    }
}

/// What a socket would do.
fn keep(datagrams: &mut Vec<Vec<u8>>, index: usize, sealed: &[u8]) {
    if datagrams.len() <= index {
        datagrams.push(Vec::new());
    }
    datagrams[index].clear();
    datagrams[index].extend_from_slice(sealed);
}
