import type { GateResult } from './task-state.ts';

/** Formats the result of the checks as Markdown, for models and people. */
export function describeGate({ passed, image, commands, faults, secrets }: GateResult): string {
  const lines = [
    passed ? 'All checks passed.' : 'The checks did not pass.',
    ...faults.map(({ path, why }) => `- \`${path}\` ${why}`),
    ...secrets.map(({ path, line, what }) => `- \`${path}:${line}\` has a secret: ${what}`),
    ...(commands.length === 0 && image === undefined ? ['- No acceptance commands.'] : []),
    ...commands.map(describeCommand),
  ];
  return lines.join('\n');
}

function describeCommand({
  command,
  exitCode,
  output,
  durationMs,
  timedOut,
}: GateResult['commands'][number]): string {
  const ended =
    exitCode === undefined ? (timedOut ? 'timed out' : 'was not run') : `exit code ${exitCode}`;
  const head = `- \`${command}\`: ${ended}, ${Math.round(durationMs)} ms`;
  return exitCode === 0 || output.trim() === ''
    ? head
    : `${head}\n\n~~~~\n${output.trimEnd()}\n~~~~\n`;
}
