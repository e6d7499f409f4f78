/**
 * Encodes the predictions of a response in time slices: 20,000 scores take 5 to 8 ms, for which each other call would
 * wait. Only calls over gRPC need it.
 */

import { PredictResponse } from '@datahub/proto/ml/v1/ml';
import { requirePrincipal } from '@datahub/service-kit/call/call';
import { EncodedMessage } from '@datahub/service-kit/grpc/encoded-message';
import { inSlices, type TimeSlices } from '../scheduling/time-slices.ts';
import type { ClassifierCalls } from './classifier-access.ts';

type Predict = ClassifierCalls['predict'];

export function encodedInSlices(
  predict: Predict,
  slices: TimeSlices,
): (...args: Parameters<Predict>) => Promise<PredictResponse | EncodedMessage> {
  return async (request, ctx) => {
    const response = (await predict(request, ctx)) as PredictResponse;
    // One prediction has at most a thousand scores.
    if (response.predictions.length < 2) return response;
    const work = slices.of(requirePrincipal(ctx).accountId, ctx.signal);
    const parts: Uint8Array[] = [];
    await inSlices(response.predictions, work, (prediction) => {
      // The encoding of a list is that of its items, one behind the other.
      parts.push(PredictResponse.encode({ predictions: [prediction] }).finish());
    });
    return new EncodedMessage(Buffer.concat(parts));
  };
}
