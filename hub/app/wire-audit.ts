import { join } from 'node:path';
import { type Audit, type AuditNeeds, createAudit } from '#audit';
import { type ConfigChange, type Config, readAudit } from '#config';
import type { Event } from '#core';
import { membersOf, stringAt } from '#jsonrpc';
import type { Observed } from '#routing';
import { policyNameOf } from '#policy';
import { syncFolder } from '#store';

type Needs = Omit<AuditNeeds, 'syncFolder'> & {
  readonly source: { readonly current: Config; readonly changed: Event<ConfigChange> };
};

/** The member of params that contains the arguments, by method. */
const argumentMembers: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'arguments'],
  ['prompts/get', 'arguments'],
  ['completion/complete', 'argument'],
]);

const defaults = readAudit(undefined);

/** Creates the audit log in the data folder. It records the calls of the router and the changes of the config. */
export function wireAudit(dataFolder: string, { source, ...needs }: Needs) {
  const optionsOf = (config: Config) => config.audit ?? defaults;
  let options = optionsOf(source.current);
  const audit = createAudit(join(dataFolder, 'audit'), () => options, { ...needs, syncFolder });
  source.changed(({ after, difference }) => {
    const next = optionsOf(after);
    // A line is written if the log is on before or after the change, so that the log also records its own end.
    if (next.enabled) options = next;
    recordReload(audit, difference);
    options = next;
    audit.forgetTexts();
  });

  function observe(call: Observed): void {
    // Does no work for a call while the log is off.
    if (!options.enabled) return;
    const member = argumentMembers.get(call.method);
    const span = member === undefined ? undefined : call.params.get(member);
    const args = span && { message: call.request, start: span.start, end: span.end };
    audit.recordCall(withName(call), policyNameOf(call.principal), args);
  }

  return { audit, auditor: { refuses: audit.refuses, observe } };
}

/** Returns the call with the name of the item that it uses, also for methods whose name is in another member. */
function withName(call: Observed): Observed {
  const { params, request } = call;
  if (call.name !== undefined) return call;
  const members = params.has('ref') ? membersOf(request, params.get('ref')) : params;
  const name = stringAt(request, members?.get('name') ?? members?.get('uri'));
  return name === undefined ? call : { ...call, name };
}

function recordReload(audit: Audit, difference: ConfigChange['difference']): void {
  const { added, removed, changed, hub, naming, reordered } = difference;
  const names = (servers: readonly { readonly name: string }[]) => servers.map(({ name }) => name);
  const lists = {
    added: names(added),
    removed: names(removed),
    changed: changed.map(({ after }) => after.name),
    keys: [...hub, ...(naming ? ['naming'] : [])],
  };
  audit.recordChange({
    action: 'config_changed',
    principal: undefined,
    outcome: 'ok',
    details: {
      ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)),
      ...(reordered && { reordered }),
    },
  });
}
