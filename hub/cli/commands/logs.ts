import { tryParseJson } from '#core';
import { type Command, type ExitCode, type Run, hubOptions } from '../command.ts';
import { type HubClient, openHub, pathOfServer } from '../hub-client.ts';
import { fieldsOf } from '../responses.ts';
import { numberOf, wordOf } from '../values.ts';

const usualLines = 50;
const maxLines = 10_000;

/** `agenthub logs`: prints the latest stderr lines of a server, and with `--follow` each new line. */
export const logs: Command = {
  name: 'logs',
  summary: 'Show the last lines that a server wrote to stderr.',
  positionals: [{ name: 'server', help: 'Server name.', completion: 'server' }],
  options: {
    follow: { short: 'f', help: 'Print new lines as they arrive, until Ctrl-C.' },
    lines: { short: 'n', value: 'number', help: `Number of lines. Default: ${usualLines}.` },
    ...hubOptions,
  },
  details: [
    'The hub keeps only the last lines since the latest start; "docker logs agenthub-<server>" shows more.',
    '--json prints {"name", "lines": [...]}; with --follow one {"line"} object per line.',
  ],
  examples: [
    ['logs memory', 'The last lines'],
    ['logs memory -f -n 10', 'The last ten lines, and new ones'],
  ],
  async run(run) {
    const { values, isJson, json, out, err, screen } = run;
    const name = wordOf(values, 'server');
    const most = numberOf(values, 'lines', { least: 0, most: maxLines }) ?? usualLines;
    const hub = await openHub(run);
    const path = `${pathOfServer(name)}/logs`;
    const kept = linesOf(await hub.ask({ method: 'GET', path }));
    const skipped = Math.max(0, kept.length - most);
    if (values['follow'] === true) return await follow(hub, `${path}?follow=true`, skipped, run);
    const lines = kept.slice(skipped);
    if (isJson) return json({ name, lines });
    for (const line of lines) out(screen.foreign(line));
    if (kept.length === 0) err(`${name} has written nothing since its latest start`);
    return 0;
  },
};

async function follow(
  hub: HubClient,
  path: string,
  skipped: number,
  { isJson, out, err, screen, signal: ending, unread }: Run,
): Promise<ExitCode> {
  const signal = AbortSignal.any([ending, unread]);
  const print = (line: string) => out(isJson ? JSON.stringify({ line }) : screen.foreign(line));
  let toSkip = skipped;
  try {
    for await (const { data } of hub.follow({ method: 'GET', path, signal })) {
      const event = tryParseJson(data);
      const lines = linesOf(event);
      const { dropped } = fieldsOf(event);
      if (typeof dropped === 'number') err(`${dropped} lines arrived too fast to be shown`);
      for (const line of lines.slice(toSkip)) print(line);
      toSkip = Math.max(0, toSkip - lines.length);
    }
  } catch (error) {
    // The user ended the command.
    if (signal.aborted) return 0;
    throw error;
  }
  err('the log has ended: the server was removed, or the hub has stopped');
  return 0;
}

function linesOf(answer: unknown): readonly string[] {
  const { lines } = fieldsOf(answer);
  return Array.isArray(lines) ? lines.map(String) : [];
}
