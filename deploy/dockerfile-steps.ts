/** Parses the instructions that deploy/Dockerfile uses into steps that can run on a directory instead of an image. */

export type Step =
  | { kind: 'copy'; from: string | undefined; sources: string[]; target: string }
  | { kind: 'run'; command: string[] };

export interface Stage {
  name: string;
  /** An earlier stage, or an image's reference. */
  base: string;
  steps: Step[];
  env: Record<string, string>;
  /** As written in the Dockerfile; empty if the stage has no USER. */
  user: string;
  entrypoint: string[];
  /** Empty if the stage has no HEALTHCHECK. */
  healthCheck: string[];
}

/** Throws on an unknown instruction: everything in the Dockerfile must be tested. */
export function parseDockerfile(text: string): Stage[] {
  const stages: Stage[] = [];
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  for (const line of lines) {
    const [instruction = '', ...words] = line.trim().split(/\s+/);
    const rest = line.trim().slice(instruction.length).trim();
    if (instruction === 'FROM') {
      stages.push(openStage(words, stages));
      continue;
    }
    const stage = stages.at(-1);
    if (stage === undefined) throw new Error('A Dockerfile starts with FROM.');
    apply(stage, { instruction, words, rest });
  }
  return stages;
}

function openStage([base = '', , name = base]: string[], earlier: Stage[]): Stage {
  const parent = earlier.find((stage) => stage.name === base);
  return {
    name,
    base,
    steps: [],
    env: { ...parent?.env },
    user: parent?.user ?? '',
    entrypoint: parent?.entrypoint ?? [],
    healthCheck: parent?.healthCheck ?? [],
  };
}

function apply(stage: Stage, line: { instruction: string; words: string[]; rest: string }): void {
  const { instruction, words, rest } = line;
  switch (instruction) {
    case 'COPY':
      stage.steps.push(toCopy(words));
      return;
    case 'RUN':
      stage.steps.push({ kind: 'run', command: words });
      return;
    case 'ENV':
      for (const pair of words) {
        const [name = '', value = ''] = pair.split('=');
        stage.env[name] = value;
      }
      return;
    case 'USER':
      stage.user = rest;
      return;
    case 'ENTRYPOINT':
      stage.entrypoint = JSON.parse(rest) as string[];
      return;
    case 'HEALTHCHECK':
      stage.healthCheck = JSON.parse(rest.slice(rest.indexOf('['))) as string[];
      return;
    case 'VOLUME':
    case 'WORKDIR':
    case 'EXPOSE':
      return;
    default:
      throw new Error(`${instruction} is not supported: add it to deploy/dockerfile-steps.ts first.`);
  }
}

function toCopy(words: string[]): Step {
  const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
  const paths = words.filter((word) => !word.startsWith('--'));
  return { kind: 'copy', from, sources: paths.slice(0, -1), target: paths.at(-1) ?? '' };
}

/** Returns a function that says whether `.dockerignore` keeps a path, relative to the root, in the build context. */
export function readIgnore(text: string, matches: (path: string, glob: string) => boolean) {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return (path: string): boolean => {
    let kept = true;
    for (const line of lines) {
      const glob = line.replace(/^!/, '');
      const hit = glob === '*' || matches(path, glob) || matches(path, `${glob}/**`);
      if (hit) kept = line.startsWith('!');
    }
    return kept;
  };
}
