/** The capabilities that the hub negotiates. Each changes the format of packets, so the driver must not choose others. */

const bits = {
  longPassword: 0x1,
  /** Affected rows include those that an UPDATE found but did not change. */
  foundRows: 0x2,
  longFlag: 0x4,
  connectWithDb: 0x8,
  protocol41: 0x200,
  ssl: 0x800,
  transactions: 0x2000,
  secureConnection: 0x8000,
  multiResults: 0x20000,
  pluginAuth: 0x80000,
  connectAttributes: 0x100000,
  longAuthData: 0x200000,
  sessionTrack: 0x800000,
};

const requested =
  bits.longPassword |
  bits.foundRows |
  bits.longFlag |
  bits.connectWithDb |
  bits.protocol41 |
  bits.transactions |
  bits.secureConnection |
  bits.multiResults |
  bits.pluginAuth |
  bits.connectAttributes |
  bits.longAuthData |
  bits.sessionTrack;

const allowed = requested | bits.ssl;

/** The parts of a driver's connection that its types leave out. */
export interface Negotiating {
  config: { clientFlags: number };
  /** The handshake, until the log-in has finished. */
  _command: { clientFlags: number };
  writePacket(packet: { buffer: Buffer }): void;
}

/**
 * Replaces the driver's choice before its handshake has sent anything. The handshake adds capabilities that the server
 * offers, such as multi-factor authentication; those outside the list are dropped. The returned check looks at the bytes
 * that were sent, so that a driver that chooses in another way is noticed after the log-in.
 */
export function limitCapabilities(driver: Negotiating): () => boolean {
  let flags = requested;
  Object.defineProperty(driver._command, 'clientFlags', {
    get: () => flags,
    set: (wanted: number) => {
      flags = wanted & allowed;
    },
  });
  // The form of the driver's own commands, such as KILL, depends on these.
  driver.config.clientFlags = requested;

  let sent = 0;
  const { writePacket } = driver;
  driver.writePacket = (packet) => {
    // The request for TLS and the log-in both begin with the capabilities, after the packet's header.
    sent = packet.buffer.readUInt32LE(4);
    driver.writePacket = writePacket;
    writePacket.call(driver, packet);
  };
  return () => sent !== 0 && (sent & ~allowed) === 0;
}
