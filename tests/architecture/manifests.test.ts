import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readSettings, type SettingsReader } from '../../packages/service-kit/src/settings/settings.ts';
import { readCatalogConfig } from '../../services/catalog/src/config.ts';
import { readExecutorConfig } from '../../services/executor/src/config.ts';
import { readGatewayConfig } from '../../services/gateway/src/config.ts';
import { readMlConfig } from '../../services/ml/src/config.ts';
import { manifestsFile } from '../../tools/render-manifests.ts';
import { faultsOf, type Manifest } from './manifest-policy.ts';

const read = (text: string) =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((object): object is Manifest => object !== null);
const objects = read(readFileSync(manifestsFile, 'utf8'));
const copy = () => structuredClone(objects);

const services = ['gateway', 'catalog', 'executor', 'ml'] as const;
type Mutate = (objects: Manifest[], service: string) => void;

const find = (objects: Manifest[], kind: string, service: string): Manifest => {
  const found = objects.find(
    (object) => object.kind === kind && object.metadata.labels?.['app.kubernetes.io/component'] === service,
  );
  if (found === undefined) throw new Error(`${service} has no ${kind}.`);
  return found;
};
const pod = (objects: Manifest[], service: string) => find(objects, 'Deployment', service).spec.template.spec;
const container = (objects: Manifest[], service: string) => pod(objects, service).containers[0];
const policy = (objects: Manifest[], service: string) => find(objects, 'NetworkPolicy', service).spec;
const remove = (objects: Manifest[], kind: string, service: string) =>
  objects.splice(objects.indexOf(find(objects, kind, service)), 1);
const denial = (objects: Manifest[]) => {
  const found = objects.find(({ metadata }) => metadata.name.endsWith('-default-deny'));
  if (found === undefined) throw new Error('There is no default policy.');
  return found;
};

/** Done to each of the four services. */
const anyService: [string, Mutate][] = [
  ['runAsNonRoot off', (o, s) => delete pod(o, s).securityContext.runAsNonRoot],
  ['root as the user', (o, s) => Object.assign(pod(o, s).securityContext, { runAsUser: 0 })],
  ['seccomp gone', (o, s) => delete pod(o, s).securityContext.seccompProfile],
  ['a service account token', (o, s) => delete pod(o, s).automountServiceAccountToken],
  ["the node's network", (o, s) => Object.assign(pod(o, s), { hostNetwork: true })],
  ['a folder of the node', (o, s) => pod(o, s).volumes.push({ name: 'x', hostPath: { path: '/' } })],
  ['escalation', (o, s) => delete container(o, s).securityContext.allowPrivilegeEscalation],
  ['privileged', (o, s) => Object.assign(container(o, s).securityContext, { privileged: true })],
  ['a root that can be written', (o, s) => delete container(o, s).securityContext.readOnlyRootFilesystem],
  ['capabilities kept', (o, s) => delete container(o, s).securityContext.capabilities],
  ['limits gone', (o, s) => delete container(o, s).resources.limits],
  ['requests gone', (o, s) => delete container(o, s).resources.requests],
  ['no startup probe', (o, s) => delete container(o, s).startupProbe],
  ['no readiness probe', (o, s) => delete container(o, s).readinessProbe],
  ['no liveness probe', (o, s) => delete container(o, s).livenessProbe],
  ['no wait before the end', (o, s) => delete container(o, s).lifecycle],
  ['no time to drain', (o, s) => Object.assign(pod(o, s), { terminationGracePeriodSeconds: 10 })],
  ['a second container', (o, s) => pod(o, s).containers.push({ name: 'x', image: 'x' })],
  ['no spread', (o, s) => delete pod(o, s).topologySpreadConstraints],
  ['no checksum', (o, s) => delete find(o, 'Deployment', s).spec.template.metadata.annotations],
  ['a gap while rolling', (o, s) => delete find(o, 'Deployment', s).spec.strategy],
  [
    'a secret by value',
    (o, s) => Object.assign(container(o, s).env[0], { value: 'x', valueFrom: undefined }),
  ],
  ['the service token gone', (o, s) => container(o, s).env.splice(0, 1)],
  [
    "another's secret",
    (o, s) =>
      container(o, s).env.push({
        name: s === 'executor' ? 'DATAHUB_STORE_URL' : 'DATAHUB_SEALING_PRIVATE_KEYS',
        valueFrom: { secretKeyRef: { name: 'x', key: 'x' } },
      }),
  ],
  [
    'a secret among the settings',
    (o, s) => Object.assign(find(o, 'ConfigMap', s).data, { DATAHUB_SERVICE_TOKEN: 'x' }),
  ],
  ['no network policy', (o, s) => remove(o, 'NetworkPolicy', s)],
  ['no disruption budget', (o, s) => remove(o, 'PodDisruptionBudget', s)],
  ['a policy without egress', (o, s) => Object.assign(policy(o, s), { policyTypes: ['Ingress'] })],
  ['a rule for every port', (o, s) => policy(o, s).ingress.push({ from: [{ podSelector: {} }] })],
  ['egress to everywhere', (o, s) => policy(o, s).egress.push({ ports: [{ port: 443 }] })],
];

/** Done to one. */
const oneService: [string, (objects: Manifest[]) => void][] = [
  ['no default policy', (o) => o.splice(o.indexOf(denial(o)), 1)],
  ['a hole in the default policy', (o) => Object.assign(denial(o).spec, { ingress: [{}] })],
  ['a default policy for one direction', (o) => denial(o).spec.policyTypes.pop()],
  ['a secret in the chart', (o) => o.push({ kind: 'Secret', metadata: { name: 'x' } })],
  ['ml open to everybody', (o) => delete policy(o, 'ml').ingress[0].from],
  ['ml that reaches the catalog', (o) => policy(o, 'ml').egress.push(policy(o, 'executor').egress[1])],
  ['an executor that anybody calls', (o) => policy(o, 'executor').ingress[0].from.push({ podSelector: {} })],
  [
    'a catalog that ml calls',
    (o) =>
      policy(o, 'catalog').ingress[0].from.push({
        podSelector: { matchLabels: { 'app.kubernetes.io/component': 'ml' } },
      }),
  ],
  ['a catalog that the executor cannot call', (o) => policy(o, 'catalog').ingress[0].from.pop()],
  [
    'a catalog that reaches the internet',
    (o) => policy(o, 'catalog').egress.push({ to: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }),
  ],
  ['an executor without its exceptions', (o) => delete policy(o, 'executor').egress[2].to[0].ipBlock.except],
  ...['10.0.0.0/8', '169.254.0.0/16', '192.168.0.0/16'].map((range): [string, (o: Manifest[]) => void] => [
    `an executor that reaches ${range}`,
    (o) => {
      const { ipBlock } = policy(o, 'executor').egress[2].to[0];
      ipBlock.except = ipBlock.except.filter((one: string) => one !== range);
    },
  ]),
  [
    'an executor that dials private ranges',
    (o) => Object.assign(find(o, 'ConfigMap', 'executor').data, { DATAHUB_SOURCES_PRIVATE: '1' }),
  ],
  ['an executor that dials the hub', (o) => delete find(o, 'ConfigMap', 'executor').data.DATAHUB_OWN_NAMES],
  ['a service with one address', (o) => delete find(o, 'Service', 'executor').spec.clusterIP],
  [
    'a gateway ready by itself',
    (o) => Object.assign(container(o, 'gateway').readinessProbe.httpGet, { path: '/healthz' }),
  ],
];

const readers: [(typeof services)[number], (reader: SettingsReader) => object][] = [
  ['gateway', (reader) => readGatewayConfig(reader, { edge: 'express-gateway', env: {} })],
  ['catalog', readCatalogConfig],
  ['executor', (reader) => readExecutorConfig(reader, { embedded: false })],
  ['ml', readMlConfig],
];

describe('deploy/k8s/manifests', () => {
  it.each(readers)('gives %s settings that it takes', (service, read) => {
    const env = { ...find(objects, 'ConfigMap', service).data, DATAHUB_STORE_URL: 'mongodb://mongodb/hub' };
    expect(readSettings(env, read)).toBeDefined();
  });

  it('meets the restricted standard, closes its networks and names its secrets', () => {
    expect(faultsOf(objects)).toEqual([]);
  });

  it('kills no service for saying that it does not serve, neither while it starts nor later', () => {
    for (const service of services) {
      const { startupProbe, livenessProbe, readinessProbe } = container(objects, service);
      const own = service === 'gateway' ? { path: '/healthz', port: 'http' } : undefined;
      for (const probe of [startupProbe, livenessProbe]) {
        expect(probe.httpGet).toEqual(own);
        expect(probe.grpc).toBeUndefined();
      }
      expect(readinessProbe).not.toEqual(startupProbe);
    }
  });

  it.each(anyService)('is not let through with %s', (_name, mutate) => {
    for (const service of services) {
      const changed = copy();
      mutate(changed, service);
      expect(faultsOf(changed), service).not.toEqual([]);
    }
  });

  it.each(oneService)('is not let through with %s', (_name, mutate) => {
    const changed = copy();
    mutate(changed);
    expect(faultsOf(changed)).not.toEqual([]);
  });
});
