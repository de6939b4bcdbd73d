/** Words with which programs report errors. */
const report =
  /error|exception|fatal|panic|fail(?:ed|ure)|cannot|can't|could not|couldn't|unable to|not found|no such|denied|refused|missing|required|\bmust (?:be|have|set|provide)\b|invalid|unknown|unexpected|unrecognized|not set\b|unauthori[sz]ed|forbidden|\bE[A-Z]{4,}\b/i;

/** Lines around a report: frames of stacks, fields of error objects, and the words of runtimes and installers. */
const around =
  /^\s+at |^\s*File "|^\s*\^+\s*$|^Node\.js v\d|^\s*\w+: '?[\w./:-]*'?,?$|^\s*[[\]{}(),]*$|^\s*throw |^npm (?:notice|warn)|A complete log of this run|Log files were not written|^npm (?:error|ERR!) (?:code|errno|syscall|path|dest) |\b(?:0|no) errors?\b|^Traceback /i;

/** The level of a line of a log that reports no error. */
const harmless =
  /^.{0,40}?(?:\b(?:INFO|DEBUG|TRACE|NOTICE)\b|\b(?:info|debug|trace|notice)["\]]?:|\[(?:info|debug)\]|level"?[=:]"?(?:info|debug))/;

/** npm puts it before each line. */
const npmPrefix = /^npm (?:error|ERR!)(?: (?:\d{3}|E[A-Z0-9]+)\b)?/;

const isReport = (line: string): boolean =>
  report.test(line.replace(npmPrefix, '')) && !around.test(line) && !harmless.test(line);

/** The last line that reports an error, without space around it; undefined if none does. Pure. */
export const errorLineIn = (lines: readonly string[]): string | undefined =>
  lines.findLast(isReport)?.trim();
