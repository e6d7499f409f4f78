import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import {
  canValidate,
  chart,
  findHelm,
  lintChart,
  manifestsFile,
  manifestsValues,
  renderChart,
  renderManifests,
  validate,
} from '../../tools/render-manifests.ts';
import { faultsOf, type Manifest } from './manifest-policy.ts';

const helm = findHelm(process.env) ?? '';
const validator = canValidate(process.env);
if (helm === '' || !validator) {
  process.stderr.write(
    'Parts of the chart are not tested: `node tools/render-manifests.ts --tools` brings Helm and kubernetes-validate.\n',
  );
}

const examplesDir = join(chart, '../examples');
const examples = readdirSync(examplesDir).map((name) => [name, [manifestsValues, join(examplesDir, name)]]);
const forms = [['the least', [manifestsValues]], ...examples] as [string, string[]][];
const dir = mkdtempSync(join(tmpdir(), 'data-hub-chart-'));
afterAll(() => rmSync(dir, { recursive: true }));

const read = (text: string) =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((object): object is Manifest => object !== null);
const find = (objects: Manifest[], kind: string, component: string) =>
  objects.find(
    (object) => object.kind === kind && object.metadata.labels?.['app.kubernetes.io/component'] === component,
  ) as Manifest;

describe.skipIf(helm === '')('the chart', () => {
  const render = (values: string[], set: string[] = []) => renderChart({ helm, values, set });

  it('is rendered in deploy/k8s/manifests', () => {
    expect(readFileSync(manifestsFile, 'utf8')).toBe(renderManifests(helm));
  });

  it.each(forms)('passes lint with %s', (_name, values) => {
    expect(lintChart({ helm, values })).toContain('0 chart(s) failed');
  });

  it('fails without values, naming everything that is missing', () => {
    const names = ['store', 'sealingPublic', 'sealingPrivate', 'apiKey', 'serviceToken'];
    const missing = names.map((name) => `secrets\\.${name}\\.name is not set`);
    expect(() => render([])).toThrow(/networkPolicy\.store\.to is empty/);
    for (const fault of missing) expect(() => render([])).toThrow(new RegExp(fault));
  });

  it.each([
    ['nobody authenticated', 'serviceToken.enabled=false', /must authenticate their callers/],
    ['mutual TLS without certificates', 'mutualTls.enabled=true', /secrets\.tls\.name is not set/],
    ['a secret among the settings', 'settings.all.DATAHUB_STORE_URL=mongodb://x', /is a secret/],
    ['one that the chart has no place for', 'settings.executor.DATAHUB_MAIL_PASSWORD=x', /by extraEnv/],
    ['headers of a collector', 'settings.all.OTEL_EXPORTER_OTLP_TRACES_HEADERS=a=b', /by extraEnv/],
    [
      'a setting that the chart makes itself',
      'settings.executor.DATAHUB_SOURCES_PRIVATE=1',
      /sources\.allowCidrs/,
    ],
    ['a value that is not known', 'replicaCount=3', /replicaCount/],
    ['root', 'runAsUser=0', /runAsUser/],
    ['an address of a service', 'settings.all.DATAHUB_CATALOG_ADDRESS=x:1', /sets it itself/],
    ['a port of a service', 'settings.ml.DATAHUB_METRICS_PORT=1', /sets it itself/],
    [
      'sources beside the policy',
      'settings.executor.DATAHUB_SOURCES_ALLOW=10.0.0.0/8',
      /sources\.allowCidrs/,
    ],
    ['a variable that the chart sets itself', 'gateway.extraEnv[0].name=DATAHUB_DRAIN_MS', /extraEnv has/],
    ['an identity for no account', 'serviceAccount.annotations.role=x', /serviceAccount\.create is off/],
    ['another port in a variable', 'gateway.extraEnv[0].name=PORT', /extraEnv has PORT/],
    ['a digest that is none', 'image.digest.ml=sha256:1', /digest/],
    ['no limits', 'executor.resources.limits=null', /limits/],
  ])('refuses %s', (_name, pair, message) => {
    expect(() => render([manifestsValues], [pair])).toThrow(message);
  });

  it('writes large numbers with all their digits', () => {
    const file = join(dir, 'numbers.yaml');
    const numbers = { DATAHUB_KEPT_BYTES_MAX: 134217728, DATAHUB_RESPONSES_BYTES_MAX: 4294967296 };
    writeFileSync(file, JSON.stringify({ settings: { all: { ...numbers, OTEL_A: 0.5, OTEL_B: true } } }));
    const { data } = find(read(render([manifestsValues, file])), 'ConfigMap', 'ml');
    expect(data).toMatchObject({
      DATAHUB_KEPT_BYTES_MAX: '134217728',
      DATAHUB_RESPONSES_BYTES_MAX: '4294967296',
      OTEL_A: '0.5',
      OTEL_B: 'true',
    });
  });

  it('keeps the policy with mutual TLS, and probes the metrics port because the kubelet has no client certificate', () => {
    const objects = read(render([manifestsValues, join(examplesDir, 'mutual-tls.yaml')]));
    expect(faultsOf(objects)).toEqual([]);
    const [container] = find(objects, 'Deployment', 'catalog').spec.template.spec.containers;
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'metrics' });
  });

  it('opens listed databases to the executor and to its policy, and nothing else', () => {
    const objects = read(render([manifestsValues, join(examplesDir, 'private-databases.yaml')]));
    // What an operator opened beside the chart's own rules is seen as such.
    expect(faultsOf(objects)).toEqual(['ml: reaches addresses outside of the cluster.']);
    const { data } = find(objects, 'ConfigMap', 'executor');
    expect(data.DATAHUB_SOURCES_ALLOW).toBe('10.20.0.0/16,*.corp.example');
    expect(data.DATAHUB_SOURCES_DENY).toBe('203.0.113.0/24,2001:db8:1::/48');
    const rule = find(objects, 'NetworkPolicy', 'executor').spec.egress[2];
    expect(rule.to[0].ipBlock.except).toContain('203.0.113.0/24');
    expect(rule.to[2]).toEqual({ ipBlock: { cidr: '10.20.0.0/16' } });
    expect(rule.ports.map(({ port }: { port: number }) => port)).toEqual([3306, 5432]);
  });

  it('denies what the settings deny beside the ranges of the cluster', () => {
    const set = [
      'settings.executor.DATAHUB_SOURCES_DENY=*.corp.example',
      'networkPolicy.clusterRanges={10.1.0.0/16}',
    ];
    const { data } = find(read(render([manifestsValues], set)), 'ConfigMap', 'executor');
    expect(data.DATAHUB_SOURCES_DENY).toBe('10.1.0.0/16,*.corp.example');
  });

  it('refuses a pipeline that would not be used', () => {
    const set = ['edge.pipeline=x', 'edge.enabled=false'];
    expect(() => render([manifestsValues], set)).toThrow(/edge\.enabled is off/);
  });

  it('refuses a variable that would overrule a setting', () => {
    const set = ['settings.all.OTEL_A=1', 'ml.extraEnv[0].name=OTEL_A', 'ml.extraEnv[0].value=2'];
    expect(() => render([manifestsValues], set)).toThrow(/`settings` has, too/);
  });

  it('opens no range of the cluster inside a range that is allowed', () => {
    const allowed = '10.20.0.0/16,fd00:1::/32,192.168.7.0/24,172.16.0.0/12,10.9.0.0/16';
    const ofCluster = '10.20.3.0/24,fd00:1:2::/48,192.168.0.0/16,10.9.0.0/16';
    const set = [`sources.allowCidrs={${allowed}}`, `networkPolicy.clusterRanges={${ofCluster}}`];
    const rule = find(read(render([manifestsValues], set)), 'NetworkPolicy', 'executor').spec.egress[2];
    expect(rule.to.slice(2)).toEqual([
      { ipBlock: { cidr: '10.20.0.0/16', except: ['10.20.3.0/24'] } },
      { ipBlock: { cidr: 'fd00:1::/32', except: ['fd00:1:2::/48'] } },
      { ipBlock: { cidr: '172.16.0.0/12' } },
    ]);
  });

  it('mounts a pipeline of the edge, and rolls no pod when it changes', () => {
    const withEdge = (text: string) => read(render([manifestsValues], [`edge.pipeline=${text}`]));
    const [one, other] = [withEdge('first'), withEdge('second')];
    const texts = [one, other].map((objects) => JSON.stringify(objects));
    expect(texts[0]).toContain('"gateway.config.yml":"first"');
    expect(texts[0]).toContain('"DATAHUB_EDGE_CONFIG":"/edge/gateway.config.yml"');
    expect(texts[0]?.replace('"first"', '"second"')).toBe(texts[1]);
  });

  it('rolls pods when a setting changes, and only those', () => {
    const checksumOf = (objects: Manifest[], service: string) =>
      find(objects, 'Deployment', service).spec.template.metadata.annotations['checksum/settings'];
    const before = read(render([manifestsValues]));
    const after = read(render([manifestsValues], ['settings.ml.DATAHUB_SUMMARY_THREADS=2']));
    expect(checksumOf(after, 'ml')).not.toBe(checksumOf(before, 'ml'));
    expect(checksumOf(after, 'catalog')).toBe(checksumOf(before, 'catalog'));
  });

  it.each([
    ['as many as the autoscaler starts', [], '5'],
    ['more than it starts', ['catalog.replicas=6'], '7'],
    ['one', ['catalog.replicas=1', 'catalog.autoscaling.enabled=false'], '2'],
  ])('tells catalogs that there may be %s, and one more while they roll', (_name, set, replicas) => {
    const { data } = find(read(render([manifestsValues], set)), 'ConfigMap', 'catalog');
    expect(data.DATAHUB_CATALOG_REPLICAS).toBe(replicas);
  });

  it('passes on what an operator sets for pods, accounts and the service', () => {
    const objects = read(render([manifestsValues, join(examplesDir, 'large.yaml')]));
    // What an operator adds to a pod is seen as such.
    expect(faultsOf(objects)).toEqual([
      'gateway: mounts something of the node.',
      'gateway: has a secret by value.',
      'gateway: is given other secrets than its own: NODE_EXTRA_CA_CERTS.',
      'executor: is given other secrets than its own: DATAHUB_MAIL_PASSWORD,DATAHUB_SEALING_PRIVATE_KEYS.',
    ]);
    const { metadata, spec } = find(objects, 'Deployment', 'gateway').spec.template;
    expect(metadata.annotations).toMatchObject({ 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true' });
    expect(spec).toMatchObject({ serviceAccountName: 'data-hub', priorityClassName: 'production' });
    expect(spec.affinity.podAntiAffinity).toBeDefined();
    const [{ image, env, volumeMounts }] = spec.containers;
    expect(image).toMatch(/^registry\.example\.com\/data-hub-gateway@sha256:a{64}$/);
    expect(env).toContainEqual({ name: 'NODE_EXTRA_CA_CERTS', value: '/ca/ca.crt' });
    expect(volumeMounts).toContainEqual({ name: 'ca', mountPath: '/ca', readOnly: true });
    expect(spec.volumes).toContainEqual({ name: 'ca', configMap: { name: 'corporate-ca' } });
    const account = objects.find(({ kind }) => kind === 'ServiceAccount');
    expect(account).toMatchObject({
      metadata: { name: 'data-hub', annotations: { 'eks.amazonaws.com/role-arn': expect.any(String) } },
      automountServiceAccountToken: false,
    });
    expect(find(objects, 'Service', 'gateway')).toMatchObject({
      metadata: { annotations: { 'service.beta.kubernetes.io/aws-load-balancer-type': 'nlb' } },
      spec: { type: 'LoadBalancer' },
    });
    expect(find(objects, 'Service', 'ml').spec.type).toBeUndefined();
  });

  it('has no network policy if they are disabled, and then needs no address of MongoDB', () => {
    const kinds = (set: string[]) => read(render([manifestsValues], set)).map(({ kind }) => kind);
    expect(kinds([])).toContain('NetworkPolicy');
    expect(kinds(['networkPolicy.enabled=false', 'networkPolicy.store.to=null'])).not.toContain(
      'NetworkPolicy',
    );
  });

  it('lets Prometheus scrape all four if a PodMonitor is set', () => {
    const objects = read(render([manifestsValues], ['podMonitor.enabled=true']));
    const watched = objects.filter(({ kind }) => kind === 'PodMonitor').map(({ metadata }) => metadata.name);
    expect(watched).toEqual(['gateway', 'catalog', 'executor', 'ml'].map((name) => `data-hub-${name}`));
  });

  it('opens the metrics ports to Prometheus with a PodMonitor, and to no one without', () => {
    const sourcesOf = (set: string[]) =>
      find(read(render([manifestsValues], set)), 'NetworkPolicy', 'ml')
        .spec.ingress.filter(({ ports }: any) => ports[0].port === 9093)
        .map(({ from }: any) => from);
    expect(sourcesOf([])).toEqual([]);
    const prometheus = { matchLabels: { 'app.kubernetes.io/name': 'prometheus' } };
    expect(sourcesOf(['podMonitor.enabled=true'])).toEqual([
      [{ namespaceSelector: {}, podSelector: prometheus }],
    ]);
    const named = ['podMonitor.enabled=true', 'networkPolicy.metricsFrom[0].ipBlock.cidr=10.0.0.1/32'];
    expect(sourcesOf(named)).toEqual([[{ ipBlock: { cidr: '10.0.0.1/32' } }]]);
  });

  it('contains the rules and the dashboard of deploy/observability, if they are asked for', () => {
    const objects = read(
      render([manifestsValues], ['prometheusRule.enabled=true', 'dashboard.enabled=true']),
    );
    const text = (name: string) => readFileSync(join(chart, '../../observability', name), 'utf8');
    const rule = objects.find(({ kind }) => kind === 'PrometheusRule');
    expect(rule?.spec).toEqual(parse(text('rules.yaml')));
    const shown = objects.find(({ metadata }) => metadata.name === 'data-hub-dashboard');
    expect(shown?.metadata.labels?.grafana_dashboard).toBe('1');
    expect(JSON.parse(shown?.data['data-hub.json'])).toEqual(JSON.parse(text('dashboard.json')));
  });

  it('gives a longer drain the time it takes', () => {
    const objects = read(render([manifestsValues], ['drainMs=50000']));
    expect(find(objects, 'Deployment', 'gateway').spec.template.spec.terminationGracePeriodSeconds).toBe(65);
  });

  describe.skipIf(!validator).each(['1.30', '1.33', '1.37'])('in Kubernetes %s', (version) => {
    it.each(forms)('is valid with %s', { timeout: 60_000 }, (name, values) => {
      const file = join(dir, `${version}-${name.replace(' ', '-')}.yaml`);
      // A PodMonitor is described by its operator, not by Kubernetes.
      writeFileSync(file, render(values, ['podMonitor.enabled=false']));
      validate(file, version, process.env);
    });

    it('notices a field that is not there', () => {
      const file = join(dir, `${version}-wrong.yaml`);
      writeFileSync(
        file,
        render([manifestsValues]).replace('automountServiceAccountToken', 'automountToken'),
      );
      expect(() => validate(file, version, process.env)).toThrow(/automountToken/);
    });
  });
});

describe('values.yaml', () => {
  it('holds no secret and names none', () => {
    const { secrets } = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as {
      secrets: Record<string, { name: string }>;
    };
    expect(Object.values(secrets).filter(({ name }) => name !== '')).toEqual([]);
  });
});
