import { retryable } from '#core';
import type { Step } from '../call.ts';

/** Refuses calls while the audit log cannot be written. */
export type AuditGate = {
  /** True if calls of this method must be refused now, because the audit log cannot be written. */
  refuses(method: string): boolean;
};

/**
 * Creates the step that refuses calls while the audit log cannot be written, if the config requires that. Undefined
 * without an audit log.
 */
export function createAuditStep(audit: AuditGate | undefined): Step | undefined {
  if (!audit) return undefined;
  return (resolved, next) => {
    if (audit.refuses(resolved.call.request.method))
      throw retryable(
        'HUB_AUDIT_UNAVAILABLE',
        'the audit log cannot be written, and "audit.on_failure" is "refuse": calls are refused until there is room on the disk of the data folder. GET /health says more',
      );
    return next(resolved);
  };
}
