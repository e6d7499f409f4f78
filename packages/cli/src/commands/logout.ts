import { rm } from 'node:fs/promises';
import { profilePath, readProfile } from '../access.ts';
import type { Command } from '../command.ts';
import { print } from '../output.ts';
import { revoke } from '../sign-in/server.ts';

export const logout: Command = {
  name: 'logout',
  summary: 'Ends the sign-in at the hub, and deletes the profile. A key stays valid.',
  run: async (_input, context) => {
    const { env } = context;
    const profile = await readProfile(env);
    if (profile === undefined) return print(context, 'Nobody is signed in.');
    // First at the hub: if it does not answer, the profile can be used to try again.
    if ('signIn' in profile) await revoke(profile.url, profile.signIn.refreshToken);
    await rm(profilePath(env), { force: true });
    print(context, `You are signed out of ${profile.url}.`);
  },
};
