import { type AuditFilter, type AuditReport, readPage, verifyAudit } from '#audit';
import { isObject, tryParseJson } from '#core';
import { type Command, type ExitCode, type Run, hubOptions, takenBy } from '../command.ts';
import { type HubClient, openHub } from '../hub-client.ts';
import { askHubOrFolder } from '../hub-or-folder.ts';
import { type Described, fieldsOf, objectsIn, scalarText } from '../responses.ts';
import { type Cell, onOneLine, tableOf } from '../table.ts';
import { count, numberOf, textOf, usageError } from '../values.ts';

const usualLines = 50;
const maxLines = 500;

/** `agenthub audit`: shows lines of the audit log, or checks all of it. */
export const audit: Command = {
  name: 'audit',
  summary: 'Show who called what and what was administered, or check the audit log.',
  positionals: [
    {
      name: 'action',
      help: '"verify" checks that no line was changed or removed. Default: show the last lines.',
      count: 'optional',
      completion: ['verify'],
    },
  ],
  options: {
    ...takenBy([undefined], {
      follow: { short: 'f', help: 'Print new lines as they are written, until Ctrl-C.' },
      lines: { short: 'n', value: 'number', help: `Number of lines. Default: ${usualLines}.` },
      client: { value: 'name', help: 'Only lines of this client, as the config names it.' },
      server: {
        value: 'name',
        completion: 'server',
        help: 'Only calls of this server, and changes to it.',
      },
      tool: {
        value: 'pattern',
        help: 'Only calls of tools, prompts or URIs that match, with * for any characters.',
      },
      denied: { help: 'Only refused calls and requests.' },
      since: {
        value: 'time',
        help: 'Only lines since this time: 30s, 15m, 1h or 7d ago, or a date such as 2026-01-31T12:00.',
      },
    }),
    ...hubOptions,
  },
  details: [
    'Asks the running hub. If none runs, it reads the files in the data folder.',
    '--json prints {"lines": [...]}, newest first; with --follow one line of JSON for each line; with verify the report. docs/audit.md lists the members of a line.',
    'verify exits with 1 if lines were changed or removed. It prints the number and hash of the last line. Store them elsewhere to detect a log that was rewritten as a whole.',
  ],
  examples: [
    ['audit --denied --since 1h', 'What was refused in the last hour'],
    ["audit -f --client cursor --tool 'files_*'", 'Follow the file calls of a client'],
    ['audit verify', 'Check the whole log'],
  ],
  async run(run) {
    const action = textOf(run.values, 'action');
    if (action !== undefined && action !== 'verify')
      throw usageError('audit: write "agenthub audit" to show lines, or "agenthub audit verify"');
    if (action === 'verify') return await verify(run);
    return run.values['follow'] === true ? await follow(run) : await show(run);
  },
};

async function show(run: Run): Promise<ExitCode> {
  const limit = limitOf(run);
  const lines = await askHubOrFolder<readonly Described[]>(run, {
    ...stored,
    ask: hub => readHub(hub, queryOf(run), limit),
    read: folder => readFolder(folder, filterOf(run), limit),
  });
  if (run.isJson) return run.json({ lines });
  if (lines.length === 0) run.err('no line of the audit log matches');
  else run.out(tableOf(heads, lines.map(rowOf).toReversed(), run.screen).join('\n'));
  return 0;
}

/** Reads lines page by page, because a page may have few matching lines although more follow. */
async function readHub(hub: HubClient, query: URLSearchParams, limit: number) {
  const lines: Described[] = [];
  for (let before = ''; ;) {
    const page = new URLSearchParams(query);
    page.set('limit', String(limit - lines.length));
    if (before) page.set('before', before);
    const answer = fieldsOf(await hub.ask({ method: 'GET', path: `/audit?${page.toString()}` }));
    lines.push(...objectsIn(answer['lines']));
    const { next } = answer;
    if (typeof next !== 'number' || lines.length >= limit) return lines;
    before = String(next);
  }
}

async function readFolder(folder: string, filter: AuditFilter, limit: number) {
  const lines: Described[] = [];
  for (let before: number | undefined; ;) {
    const page = await readPage(folder, filter, { limit: limit - lines.length, before });
    lines.push(...page.lines);
    if (page.next === undefined || lines.length >= limit) return lines;
    before = page.next;
  }
}

async function follow(run: Run): Promise<ExitCode> {
  const { isJson, out, err, screen, signal: ending, unread } = run;
  const hub = await openHub(run);
  const query = queryOf(run);
  query.set('last', String(limitOf(run)));
  const signal = AbortSignal.any([ending, unread]);
  try {
    const path = `/audit/events?${query.toString()}`;
    for await (const { data } of hub.follow({ method: 'GET', path, signal })) {
      const event = fieldsOf(tryParseJson(data));
      const { dropped } = event;
      if (typeof dropped === 'number') err(`${dropped} lines arrived too fast to be shown`);
      for (const line of objectsIn(event['lines']))
        out(isJson ? JSON.stringify(line) : followedText(line, screen));
    }
  } catch (error) {
    // The signal aborts when the user ends the command, which is not an error.
    if (signal.aborted) return 0;
    throw error;
  }
  err('the hub has stopped');
  return 0;
}

const followedText = (line: Described, screen: Run['screen']): string =>
  textsOf(line)
    .map(text => onOneLine(text, screen))
    .join('  ');

async function verify(run: Run): Promise<ExitCode> {
  const { isJson, json, out, err, screen } = run;
  const report = await askHubOrFolder<Described>(run, {
    ...stored,
    ask: async hub => fieldsOf(await hub.ask({ method: 'GET', path: '/audit/verify' })),
    read: async folder => describeReport(await verifyAudit(folder)),
  });
  const problems = objectsIn(report['problems']);
  const exitCode = problems.length > 0 ? 1 : 0;
  if (isJson) {
    json(report);
    return exitCode;
  }
  const lines = count(Number(report['lines']), 'line');
  out(`${lines} in ${count(Number(report['files']), 'file')}`);
  const { last, torn } = report;
  if (isObject(last)) out(`last line: ${String(last['seq'])}, SHA-256 ${String(last['hash'])}`);
  if (typeof torn === 'string')
    err(`${torn} ends in the middle of a line, as a crash leaves it. The hub cuts it off`);
  for (const { file, line, message } of problems)
    err(screen.foreign(`${String(file)}:${String(line)}: ${String(message)}`));
  if (problems.length === 0) out('no line was changed or removed');
  return exitCode;
}

const describeReport = ({ last, torn, ...report }: AuditReport): Described => ({
  ...report,
  last: last ?? null,
  torn: torn ?? null,
});

/** The audit log in a data folder, which is read if no hub runs. */
const stored = {
  folder: 'audit',
  contents: 'audit log',
  isEmpty: async (folder: string) => (await readPage(folder, {}, { limit: 1 })).lines.length === 0,
};

const limitOf = ({ values }: Run): number =>
  numberOf(values, 'lines', { least: 1, most: maxLines }) ?? usualLines;

function filterOf({ values, clock }: Run): AuditFilter {
  return {
    client: textOf(values, 'client'),
    server: textOf(values, 'server'),
    tool: textOf(values, 'tool'),
    isDenied: values['denied'] === true,
    since: sinceOf(textOf(values, 'since'), clock.now()),
  };
}

function queryOf(run: Run): URLSearchParams {
  const { isDenied, since, ...others } = filterOf(run);
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(others)) if (value) query.set(name, value);
  if (isDenied) query.set('denied', 'true');
  if (since !== undefined) query.set('since', new Date(since).toISOString());
  return query;
}

const unitsMs: ReadonlyMap<string | undefined, number> = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Returns the time of `--since`, in ms since the epoch. Throws HUB_USAGE for a text that is no time. */
function sinceOf(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const time =
    number === undefined ? Date.parse(text) : now - Number(number) * (unitsMs.get(unit) ?? 0);
  if (Number.isFinite(time)) return time;
  throw usageError(
    `--since: ${JSON.stringify(text)} is not allowed: write 30s, 15m, 1h or 7d, or a date such as 2026-01-31T12:00`,
  );
}

const heads = ['TIME', 'WHO', 'WHAT', 'SERVER', 'OUTCOME', 'MS'];

function rowOf(line: Described): readonly Cell[] {
  const [time = '', who = '', what = '', server = '', outcome = '', ms = ''] = textsOf(line);
  const style = outcome === 'ok' ? 'green' : 'red';
  return [time, who, what, server, outcome ? { text: outcome, style } : '', ms];
}

/** Returns the cells of a line: time, principal, action, server, outcome and duration. */
function textsOf(line: Described): readonly string[] {
  const text = (name: string) => scalarText(line[name]);
  const time = text('at').replace('T', ' ').replace('Z', '');
  if (line['kind'] === 'refusal')
    return [
      time,
      text('address'),
      `${text('method')} ${text('path')}`,
      '',
      `refused ${text('status')}`,
      '',
    ];
  if (line['kind'] !== 'call') {
    const { details } = line;
    const what = isObject(details)
      ? `${text('action')} ${JSON.stringify(details)}`
      : text('action');
    return [time, text('principal'), what, text('target'), text('outcome'), ''];
  }
  const rule = text('rule');
  const outcome = rule ? `${text('outcome')} (${rule})` : text('outcome');
  const what = text('name') || text('method');
  return [time, text('principal'), what, text('server'), outcome, text('duration_ms')];
}
