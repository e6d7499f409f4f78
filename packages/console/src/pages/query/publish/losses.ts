import { lossOfCommand } from '@datahub/contract/commands';
import { lossOfSession } from '@datahub/contract/session-settings';
import type { Draft } from '../../../state/query-editor.ts';

/** Why callers can fail, apart from the columns and variables. The editor changes no other member that they notice. */
export const lossesOf = (before: Draft, after: Draft): string[] =>
  [lossOfCommand(before.command, after.command), lossOfSession(before.session, after.session)].flatMap(
    (loss) => loss ?? [],
  );
