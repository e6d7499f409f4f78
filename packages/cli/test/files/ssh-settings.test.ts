import { expect, it } from 'vitest';
import { withoutDefaults } from '../../src/files/compare.ts';
import type { Fault } from '../../src/files/fault.ts';
import { readHubFile, SourceVariables, toFileSettings } from '../../src/files/hub-file.ts';

const fileWith = (ssh: string) => `hub: shop
label: Shop
sources:
  - label: Orders
    engine: postgres
    connectionSettings:
      { host: db, port: 5432, database: d, user: u, password: "\${env:PASSWORD}", ssh: ${ssh} }
`;

it.each<[string, string | undefined]>([
  [`{ host: b, user: hub, hostKey: "SHA256:x", privateKey: "\${env:KEY}" }`, undefined],
  [`{ host: b, port: "\${env:PORT}", user: hub, hostKey: "SHA256:x", password: "\${env:P}" }`, undefined],
  ['{ host: b, user: hub, hostKey: "SHA256:x", privateKey: PEM }', 'ssh.privateKey is a secret'],
  ['{ host: b, user: hub, hostKey: "SHA256:x", password: p }', 'ssh.password is a secret'],
  [`{ host: b, user: hub, privateKey: "\${env:KEY}" }`, 'hostKey is missing'],
  ['{ host: b, user: hub, hostKey: "SHA256:x", agent: true }', 'agent is unknown'],
])('reads a bastion in hub.yaml: %s', (ssh, fault) => {
  const faults: Fault[] = [];
  readHubFile(fileWith(ssh), { file: 'hub.yaml', faults });
  expect(faults.map(({ detail }) => detail)).toEqual(
    fault === undefined ? [] : [expect.stringContaining(fault)],
  );
});

it('writes the secret of a bastion as an expression, and compares without its usual port', () => {
  const ssh = { host: 'b', port: 22, user: 'hub', hostKey: 'SHA256:x', privateKey: '********' };
  const connectionSettings = { host: 'db', port: 1, database: 'd', user: 'u****', password: 'p****', ssh };
  const written = toFileSettings(
    { label: 'Orders', engine: 'postgres', connectionSettings },
    { variables: new SourceVariables('shop') },
  );
  expect(written.ssh).toEqual({ ...ssh, privateKey: `\${env:SHOP_ORDERS_SSH_PRIVATEKEY}` });
  const { port: _, ...usual } = ssh;
  expect(withoutDefaults({ ssh })).toEqual(withoutDefaults({ ssh: usual }));
  expect(withoutDefaults({ ssh: { ...ssh, port: 2_222 } })).not.toEqual(withoutDefaults({ ssh: usual }));
});
