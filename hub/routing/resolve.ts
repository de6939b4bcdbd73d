import { type Call, type ResolvedCall, ownCall, requireInitialized } from './call.ts';
import type { MethodNeeds } from './methods/method.ts';
import { methodOf } from './methods/method-of.ts';

/** Decides who answers a call. The answer to a call that nobody can answer is its error. */
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
