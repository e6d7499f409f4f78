/** An issuer of tokens for tests: its keys, and tokens that are signed with them. */

import {
  CompactSign,
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
} from 'jose';

export interface TestIssuer {
  issuer: string;
  audience: string;
  /** The public keys, for `limits.user.jwks`. */
  jwks: { keys: object[] };
  /** A token that is valid for an hour. Undefined claims are left out. */
  sign(claims: JWTPayload, options?: SignOptions): Promise<string>;
  /** The same with more members as JSON text, whose values JSON.stringify may not write. */
  signText(members: string | Uint8Array): Promise<string>;
}

export interface SignOptions {
  alg?: Algorithm;
  /** Seconds from now. */
  expiresIn?: number;
  kid?: string | undefined;
}

export type Algorithm = 'RS256' | 'PS256' | 'ES256' | 'EdDSA';
const algorithms: Algorithm[] = ['RS256', 'PS256', 'ES256', 'EdDSA'];

export async function createTestIssuer(issuer = 'https://id.example/'): Promise<TestIssuer> {
  const pairs = new Map(
    await Promise.all(algorithms.map(async (alg) => [alg, await generateKeyPair(alg)] as const)),
  );
  const keys = await Promise.all(
    [...pairs].map(async ([alg, { publicKey }]) => ({ ...(await exportJWK(publicKey)), alg, kid: alg })),
  );
  const audience = 'https://shop.example';
  const inAnHour = () => Math.floor(Date.now() / 1_000) + 3_600;
  return {
    issuer,
    audience,
    jwks: { keys },
    sign: (claims, { alg = 'ES256', expiresIn = 3_600, kid = alg } = {}) => {
      const exp = Math.floor(Date.now() / 1_000) + expiresIn;
      const payload = { iss: issuer, aud: audience, exp, ...claims };
      return new SignJWT(payload)
        .setProtectedHeader({ alg, ...(kid === '' ? {} : { kid }) })
        .sign((pairs.get(alg) as GenerateKeyPairResult).privateKey);
    },
    signText: (members) => {
      const head = `{"iss":${JSON.stringify(issuer)},"aud":${JSON.stringify(audience)},"iat":${inAnHour() - 3_600},`;
      return new CompactSign(Buffer.concat([Buffer.from(head), Buffer.from(members), Buffer.from('}')]))
        .setProtectedHeader({ alg: 'ES256', kid: 'ES256' })
        .sign((pairs.get('ES256') as GenerateKeyPairResult).privateKey);
    },
  };
}
