import { isObject } from '#core';
import type { Command, ExitCode, Io } from '../command.ts';
import { type HubNeeds, hubOptions, openHub } from '../hub-client.ts';
import { asJson, textsOf } from '../values.ts';

/** `agenthub reload`: makes the hub read its config now, and allows entries that it holds back. */
export function createReload(needs: HubNeeds): Command {
  return {
    name: 'reload',
    summary: 'Reload the config, and allow entries that wait for approval.',
    options: {
      allow: {
        type: 'string',
        multiple: true,
        placeholder: 'server',
        completion: 'server',
        help: 'Allow the new entry of this server, which runs without a sandbox. Repeatable.',
      },
      ...hubOptions,
    },
    details: [
      'An entry with "runtime": "process" that appears or changes while the hub runs waits until it is allowed, or until the hub is restarted.',
      '--json prints the response of POST /config/reload.',
    ],
    examples: [['reload --allow shell', 'Allow the waiting entry of one server']],
    async run(values, io) {
      const hub = await openHub(needs, values, io.signal);
      const allow = textsOf(values, 'allow');
      const body = allow.length > 0 ? { allow } : {};
      const done = await hub.ask({ method: 'POST', path: '/config/reload', body });
      if (values['json'] === true) io.out(asJson(done));
      else tell(done, io);
      return codeOf(done);
    },
  };
}

/** Exit code 1 if a part of the config is not applied. */
function codeOf(done: unknown): ExitCode {
  const { failed, waiting } = isObject(done) ? done : {};
  return [failed, waiting].some(list => Array.isArray(list) && list.length > 0) ? 1 : 0;
}

function tell(done: unknown, { out, err, screen, errorScreen }: Io): void {
  const { status, added, removed, changed, failed, waiting } = isObject(done) ? done : {};
  out(String(status));
  for (const [what, names] of [
    ['added', added],
    ['removed', removed],
    ['changed', changed],
  ] as const)
    if (Array.isArray(names) && names.length > 0)
      out(screen.foreign(`${what}: ${names.map(String).join(', ')}`));
  for (const list of [failed, waiting])
    for (const one of Array.isArray(list) ? list : [])
      if (isObject(one))
        err(errorScreen.foreign(`${String(one['server'])}: ${String(one['message'])}`));
}
