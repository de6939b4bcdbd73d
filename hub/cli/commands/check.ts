import { type ServerConfig, mountWarnings, rulesSchemaJson, schemaJson, warningsOf } from '#config';
import { type Command, configOption, jsonOption } from '../command.ts';
import { findingsOf, withPullsOfHub } from '../ollama-report.ts';
import { columns } from '../table.ts';
import { count, textOf } from '../values.ts';

/** `agenthub check`: reports problems of the config, or summarizes it. */
export const check: Command = {
  name: 'check',
  summary: 'Check the config and the settings without starting anything.',
  options: {
    ...configOption('The file to check.'),
    live: { help: 'Also ask Ollama whether it has the models of the rules for prompts.' },
    ...jsonOption,
  },
  details: [
    'If something is wrong, names file, line, value and remedy, and exits with 2. With --live exits with 1 if Ollama does not answer or lacks a model.',
    '--json prints {"file", "servers": [{"name", "runs", "starts"}], "warnings": [...]}, with --live also "ollama"; if something is wrong, {"error": {"code", "message"}}.',
  ],
  examples: [
    ['check', 'Check the config that the hub would read'],
    ['check --config hub.yaml', 'Check another file'],
    ['check --live', 'Also check that Ollama has all models'],
  ],
  async run(run) {
    const { values, isJson, needs, signal, out, json, remark, screen } = run;
    const { file, config, insteadOf } = await needs.files.loadConfig(textOf(values, 'config'));
    const ofPlaces = await needs.files.checkPlaces();
    const lockFault = await needs.files.findLockFault(textOf(values, 'config'));
    const ofLock = lockFault === undefined ? [] : [lockFault];
    const tokenNames = await needs.files.readTokenNames();
    const ofMounts = await mountWarnings(config.servers);
    const warnings = [...warningsOf(config, tokenNames), ...ofMounts, ...ofPlaces, ...ofLock];
    const servers = config.servers.map(summaryOf);
    const ollama =
      values['live'] === true
        ? await withPullsOfHub(await (await needs.examine()).ollama(signal), run)
        : undefined;
    const models = ollama && findingsOf(ollama);
    const code = models && models.problems.length > 0 ? 1 : 0;
    if (isJson) {
      json({
        file,
        servers: servers.map(([name, runs, starts]) => ({ name, runs, starts })),
        warnings,
        ...(ollama && { ollama }),
      });
      return code;
    }
    out(`${file}: ${screen.paint('green', 'fine')}, ${count(servers.length, 'server')}`);
    for (const line of columns(servers)) out(line);
    if (insteadOf !== undefined)
      remark(
        'note',
        `there is no ${insteadOf} yet: this one comes with AgentHub, and is used until there is one`,
      );
    for (const warning of warnings) remark('warning', warning);
    if (models) out(`Ollama: ${models.summary}`);
    for (const note of models?.notes ?? []) remark('note', note);
    for (const problem of models?.problems ?? []) remark('warning', problem);
    return code;
  },
};

function summaryOf(config: ServerConfig): readonly string[] {
  const { name, enabled, autoStart, isManual, launch } = config;
  const onDemand = isManual ? 'is started by hand' : 'starts at the first call';
  const start = autoStart ? 'starts with the hub' : onDemand;
  return [name, describeLaunch(launch), enabled ? start : 'disabled'];
}

/** Describes what a server runs, without its arguments, environment, headers and URL query, which may be secret. */
function describeLaunch(launch: ServerConfig['launch']): string {
  if (launch.kind === 'remote')
    return `${launch.transport} ${URL.parse(launch.url)?.origin ?? 'elsewhere'}`;
  const place = launch.runtime === 'auto' ? '' : ` (${launch.runtime})`;
  if (launch.package) return `${launch.package.ecosystem} ${launch.package.spec}${place}`;
  if (launch.own !== undefined) return `agenthub:${launch.own}, a server of the hub${place}`;
  if (launch.build) return `build of ${launch.build.folder}`;
  return launch.image === undefined
    ? `command ${launch.command}${place}`
    : `image ${launch.image}${place}`;
}

/** `agenthub schema`: prints the JSON Schema of the config file. */
export const schema: Command = {
  name: 'schema',
  summary: 'Print the JSON Schema of the config file.',
  options: {
    rules: { help: 'Print the schema of the rules file for prompts instead.' },
    task: { help: 'Print the schema of the contract of a task instead.' },
  },
  examples: [['schema > hub.schema.json', 'Save it for an editor']],
  async run({ values, out }) {
    const text =
      values['task'] === true
        ? (await import('#tasks')).contractSchemaText()
        : values['rules'] === true
          ? rulesSchemaJson()
          : schemaJson();
    out(text.trimEnd());
    return 0;
  },
};
