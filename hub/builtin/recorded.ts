import type { AuditedChange } from '#audit';
import { errorCodeOf } from '#core';
import { policyNameOf } from '#policy';
import type { BuiltinContext } from './builtin-server.ts';

export type Recorder = (change: AuditedChange) => void;

/** Runs the work of an administrative tool, and records its success or error code in the audit log. */
export async function recorded<T>(
  record: Recorder,
  { action, target }: Pick<AuditedChange, 'action' | 'target'>,
  { principal }: BuiltinContext,
  work: () => Promise<T>,
): Promise<T> {
  const note = (outcome: string) =>
    record({ action, principal: principal && policyNameOf(principal), target, outcome });
  try {
    const result = await work();
    note('ok');
    return result;
  } catch (error) {
    note(errorCodeOf(error) ?? 'HUB_INTERNAL');
    throw error;
  }
}
