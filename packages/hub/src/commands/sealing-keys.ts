import type { Run } from '@datahub/cli/command';
import { print, printJson } from '@datahub/cli/output';
import { generateKeyPair } from '@datahub/sealing/key-pair';

export const runSealingKeys: Run = async (_input, context) => {
  const { publicKey, privateKey } = await generateKeyPair();
  if (context.json) return printJson(context, { publicKey, privateKey });
  print(context, `DATAHUB_SEALING_PUBLIC_KEYS=${publicKey}\nDATAHUB_SEALING_PRIVATE_KEYS=${privateKey}\n`);
};
