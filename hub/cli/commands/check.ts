import { type ServerConfig, rulesSchemaJson, schemaJson, warningsOf } from '#config';
import { type Command, configOption, jsonOption } from '../command.ts';
import { columns } from '../table.ts';
import { count, textOf } from '../values.ts';

/** `agenthub check`: reports problems of the config, or summarizes it. */
export const check: Command = {
  name: 'check',
  summary: 'Check the config and the settings without starting anything.',
  options: { ...configOption('The file to check.'), ...jsonOption },
  details: [
    'If something is wrong, names file, line, value and remedy, and exits with 2.',
    '--json prints {"file", "servers": [{"name", "runs", "starts"}], "warnings": [...]}; if something is wrong, {"error": {"code", "message"}}.',
  ],
  examples: [
    ['check', 'Check the config that the hub would read'],
    ['check --config hub.yaml', 'Check another file'],
  ],
  async run({ values, isJson, needs, out, json, remark, screen }) {
    const { file, config, insteadOf } = await needs.files.loadConfig(textOf(values, 'config'));
    const warnings = warningsOf(config);
    const servers = config.servers.map(summaryOf);
    if (isJson)
      return json({
        file,
        servers: servers.map(([name, runs, starts]) => ({ name, runs, starts })),
        warnings,
      });
    out(`${file}: ${screen.paint('green', 'fine')}, ${count(servers.length, 'server')}`);
    for (const line of columns(servers)) out(line);
    if (insteadOf !== undefined)
      remark(
        'note',
        `there is no ${insteadOf} here: this one comes with AgentHub, and is in force until there is one. Write it with "agenthub init"`,
      );
    for (const warning of warnings) remark('warning', warning);
    return 0;
  },
};

function summaryOf({ name, enabled, autoStart, launch }: ServerConfig): readonly string[] {
  const start = autoStart ? 'starts with the hub' : 'starts at the first call';
  return [name, describeLaunch(launch), enabled ? start : 'disabled'];
}

/** What a server runs, without arguments, environment, headers and URL query, which may be secret. */
function describeLaunch(launch: ServerConfig['launch']): string {
  if (launch.kind === 'remote')
    return `${launch.transport} ${URL.parse(launch.url)?.origin ?? 'elsewhere'}`;
  const place = launch.runtime === 'auto' ? '' : ` (${launch.runtime})`;
  if (launch.package) return `${launch.package.ecosystem} ${launch.package.spec}${place}`;
  return launch.image === undefined
    ? `command ${launch.command}${place}`
    : `image ${launch.image}${place}`;
}

/** `agenthub schema`: prints the JSON Schema of the config file. */
export const schema: Command = {
  name: 'schema',
  summary: 'Print the JSON Schema of the config file.',
  options: { rules: { help: 'Print the schema of the rules file for prompts instead.' } },
  examples: [['schema > hub.schema.json', 'Save it for an editor']],
  async run({ values, out }) {
    out((values['rules'] === true ? rulesSchemaJson() : schemaJson()).trimEnd());
    return 0;
  },
};
