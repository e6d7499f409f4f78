/**
 * Settings from files: systemd's `LoadCredential=DATAHUB_API_KEY:/etc/…` makes a file of this name in
 * `$CREDENTIALS_DIRECTORY`, which only the service may read. So secrets are neither in the unit nor in its environment file.
 */

const { readdirSync, readFileSync } = process.getBuiltinModule('node:fs');

const settingName = /^DATAHUB_[A-Z0-9_]+$/;

/** The settings that have a file. A setting of the environment wins. */
export function withCredentials(env) {
  const directory = env.CREDENTIALS_DIRECTORY;
  if (!directory) return env;
  const names = readdirSync(directory).filter((name) => settingName.test(name));
  const read = names.map((name) => [name, readFileSync(`${directory}/${name}`, 'utf8').trim()]);
  return { ...Object.fromEntries(read), ...env };
}
