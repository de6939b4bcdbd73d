import { type Call, type ResolvedCall, ownCall, requireInitialized } from './call.ts';
import type { MethodNeeds } from './methods/method.ts';
import { methodOf } from './methods/method-of.ts';

/** Resolves a call. If the call cannot be resolved, the answer is the error. */
export function resolveCall(call: Call, needs: MethodNeeds): ResolvedCall {
  try {
    requireInitialized(call);
    return methodOf(call)(call, needs);
  } catch (error) {
    return ownCall(call, () => {
      throw error;
    });
  }
}
