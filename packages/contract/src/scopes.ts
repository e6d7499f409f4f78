/** What a key may do. A route names the scope that it needs; `*` grants all of them. */
export const scopes = [
  'hubs:read',
  'hubs:write',
  'sources:read',
  'sources:write',
  'queries:read',
  'queries:check',
  'queries:write',
  'queries:execute',
  'queries:execute:write',
  'classifiers:read',
  'classifiers:write',
  'classifiers:train',
  'classifiers:predict',
  'ai:summarize',
  'watches:read',
  'watches:write',
  'destinations:write',
  'keys:read',
  'keys:admin',
] as const;

export type Scope = (typeof scopes)[number];

/** What a key can be given: a scope, or `*`. */
export const grantableScopes = ['*', ...scopes] as const;

/** Scopes that are part of others. */
const parts: Partial<Record<Scope, Scope>> = {
  'queries:check': 'queries:write',
  'keys:read': 'keys:admin',
};

/** Whether a key with the scopes `granted` may do `wanted`. */
export const isGranted = (granted: readonly string[], wanted: Scope): boolean => {
  const whole = parts[wanted];
  return (
    granted.includes('*') || granted.includes(wanted) || (whole !== undefined && granted.includes(whole))
  );
};
