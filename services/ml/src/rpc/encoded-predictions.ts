/**
 * Encodes each prediction as soon as it is made, in the time slice of its text. 20,000 scores take 5 to 8 ms at once, for
 * which each other call would wait, and kept as objects until then they make minor GCs take longer than a slice. Only
 * calls over gRPC need it.
 */

import { PredictResponse } from '@datahub/proto/ml/v1/ml';
import { EncodedMessage } from '@datahub/service-kit/grpc/encoded-message';
import type { ClassifierCallDeps, MlCalls } from './classifier-access.ts';
import { createPredict } from './classifiers.ts';

export function createEncodedPredict(deps: ClassifierCallDeps) {
  // The encoding of a list is that of its items, one behind the other.
  const predict = createPredict(deps, (prediction) => encode({ predictions: [prediction], classes: 0 }));
  return async (...call: Parameters<MlCalls['predict']>): Promise<EncodedMessage> => {
    const { predictions, classes } = await predict(...call);
    return new EncodedMessage(Buffer.concat([...predictions, encode({ predictions: [], classes })]));
  };
}

const encode = (message: PredictResponse): Uint8Array => PredictResponse.encode(message).finish();
