/** What keys and certificates have in common, in DER and in PEM. */

/** The tags of ASN.1. */
export const tags = {
  integer: 0x02,
  bitString: 0x03,
  octets: 0x04,
  oid: 0x06,
  sequence: 0x30,
  parameters: 0xa0,
  publicPoint: 0xa1,
} as const;

/** The names of kinds of keys, in hexadecimal. */
export const keyNames = { rsa: '2a864886f70d010101', ec: '2a8648ce3d0201' } as const;

/** The form of a point of a curve with both coordinates. A point without one is costly to read. */
export const wholePoint = 4;

export function pemOf(label: string, der: Buffer): string {
  // OpenSSL reads nothing before an empty line.
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `${[`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`].join('\n')}\n`;
}
