/**
 * Renders the Helm chart for kubectl.
 *
 *     node tools/render-manifests.ts           writes deploy/k8s/manifests
 *     node tools/render-manifests.ts --check   fails if they are stale
 *     node tools/render-manifests.ts --tools   first installs Helm and kubernetes-validate for the tests
 *
 * Helm is found in the PATH or in Go's folder of programs, or built once with Go.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheDir } from './cache.ts';
import { pythonPackage } from './python-package.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const helmVersion = 'v3.22.0';
/** The lowest Kubernetes version of the rendered manifests. A Helm that Go built assumes a very old one by default. */
const kubeVersion = '1.34.0';

export const chart = join(root, 'deploy/k8s/chart');
/** The values that deploy/k8s/manifests is rendered with. */
export const manifestsValues = join(root, 'deploy/k8s/manifests-values.yaml');
export const manifestsFile = join(root, 'deploy/k8s/manifests/data-hub.yaml');
const head = `# Rendered from deploy/k8s/chart by tools/render-manifests.ts: change the chart and render again.\n`;

/** The path of an installed Helm, else undefined. Builds nothing. */
export function findHelm(env: NodeJS.ProcessEnv): string | undefined {
  const goDirs = [env.GOBIN, env.GOPATH && join(env.GOPATH, 'bin'), env.HOME && join(env.HOME, 'go/bin')];
  const dirs = [...(env.PATH ?? '').split(delimiter), ...goDirs, join(cacheDir, 'helm', helmVersion)];
  return dirs
    .filter((dir): dir is string => dir !== undefined && dir !== '')
    .map((dir) => join(dir, process.platform === 'win32' ? 'helm.exe' : 'helm'))
    .find((path) => existsSync(path));
}

/** Takes one to two minutes the first time. Undefined if Go or its module proxy is not available. */
export function buildHelm(env: NodeJS.ProcessEnv): string | undefined {
  const dir = join(cacheDir, 'helm', helmVersion);
  mkdirSync(dir, { recursive: true });
  const module = `helm.sh/helm/v3/cmd/helm@${helmVersion}`;
  const { status } = spawnSync('go', ['install', module], {
    env: { ...env, GOBIN: dir },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return status === 0 ? findHelm(env) : undefined;
}

export interface RenderOptions {
  helm: string;
  /** A packed chart instead of the one in the repository. */
  from?: string;
  /** Files of values, later ones over earlier ones. */
  values?: string[];
  /** `path=value`, which override the files. */
  set?: string[];
}

/** The chart's objects as YAML. Throws Helm's message if it fails. */
export function renderChart({ helm, from = chart, values = [], set = [] }: RenderOptions): string {
  const args = ['template', 'data-hub', from, '--namespace', 'data-hub', ...optionsOf({ values, set })];
  return run(helm, args);
}

/** The output of `helm lint --strict`. Throws it if there are errors. */
export function lintChart({ helm, values = [], set = [] }: RenderOptions): string {
  return run(helm, ['lint', '--strict', chart, ...optionsOf({ values, set })]);
}

function optionsOf({ values, set }: { values: string[]; set: string[] }): string[] {
  return [
    '--kube-version',
    kubeVersion,
    ...values.flatMap((path) => ['--values', path]),
    ...set.flatMap((pair) => ['--set', pair]),
  ];
}

function run(helm: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(helm, args, { encoding: 'utf8', maxBuffer: 16_777_216 });
  if (status !== 0) throw new Error(`${stderr}${stdout}`);
  return stdout;
}

const validator = pythonPackage('kubernetes-validate', '1.37.0');

/** True if `validate` can be called. */
export const canValidate = (env: NodeJS.ProcessEnv): boolean => validator.isInstalled(env);

/** Checks objects against the schemas of a Kubernetes version, as in `1.37`. Throws the validator's message. */
export function validate(file: string, version: string, env: NodeJS.ProcessEnv): void {
  const args = ['-m', 'kubernetes_validate', '--strict', '--quiet', '--kubernetes-version', version, file];
  const { status, stdout, stderr } = spawnSync('python3', args, {
    encoding: 'utf8',
    env: validator.env(env),
  });
  if (status !== 0) throw new Error(`${stdout}${stderr}`);
}

/**
 * The expected content of deploy/k8s/manifests: without Helm's own labels and comments, which kubectl does not need.
 */
export function renderManifests(helm: string): string {
  const text = renderChart({ helm, values: [manifestsValues] })
    .split('\n')
    .filter((line) => !/^# Source: |^ +helm\.sh\/chart: /.test(line))
    .map((line) =>
      line.replace('app.kubernetes.io/managed-by: Helm', 'app.kubernetes.io/managed-by: kubectl'),
    )
    .join('\n');
  return `${head}${text}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const helm = findHelm(process.env) ?? buildHelm(process.env);
  if (helm === undefined) {
    process.stderr.write('Neither Helm nor Go, which can build it, is installed. Install one of them.\n');
    process.exit(1);
  }
  if (process.argv.includes('--tools') && !canValidate(process.env)) validator.install(process.env);
  const rendered = renderManifests(helm);
  if (!process.argv.includes('--check')) {
    writeFileSync(manifestsFile, rendered);
  } else if (!existsSync(manifestsFile) || readFileSync(manifestsFile, 'utf8') !== rendered) {
    process.stderr.write('deploy/k8s/manifests is stale. Run node tools/render-manifests.ts.\n');
    process.exit(1);
  }
  const version = execFileSync(helm, ['version', '--short'], { encoding: 'utf8' }).trim();
  process.stdout.write(`deploy/k8s/manifests matches the chart as Helm ${version} renders it.\n`);
}
