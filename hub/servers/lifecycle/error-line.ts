/** Matches words with which programs report errors. */
const report =
  /error|exception|fatal|panic|fail(?:ed|ure)|cannot|can't|could not|couldn't|unable to|not found|no such|denied|refused|missing|required|\bmust (?:be|have|set|provide)\b|invalid|unknown|unexpected|unrecognized|not set\b|unauthori[sz]ed|forbidden/i;

/** Codes of errors of the system, such as ENOENT. In lower case, "exiting" and "every" would be codes too. */
const systemCode = /\bE[A-Z]{4,}\b/;

/**
 * Lines that belong to an error but do not state it: stack frames, fields of error objects, and notices of installers.
 */
const around =
  /^\s+at |^\s*File "|^\s*\^+\s*$|^Node\.js v\d|^\s*\w+: '?[\w./:-]*'?,?$|^\s*[[\]{}(),]*$|^\s*throw |^Emitted 'error' event |^npm (?:notice|warn)|A complete log of this run|Log files were not written|^npm (?:error|ERR!) (?:code|errno|syscall|path|dest) |\b(?:0|no) errors?\b|^Traceback /i;

/** A log level that is not an error, at the start of a line. */
const harmless =
  /^.{0,40}?(?:\b(?:INFO|DEBUG|TRACE|NOTICE)\b|\b(?:info|debug|trace|notice)["\]]?:|\[(?:info|debug)\]|level"?[=:]"?(?:info|debug))/;

/** The prefix that npm puts before each line of an error. */
const npmPrefix = /^npm (?:error|ERR!)(?: (?:\d{3}|E[A-Z0-9]+)\b)?/;

function isReport(line: string): boolean {
  const text = line.replace(npmPrefix, '');
  return (report.test(text) || systemCode.test(text)) && !around.test(line) && !harmless.test(line);
}

/** Returns the last line that reports an error, without space around it; undefined if none does. Pure. */
export const errorLineIn = (lines: readonly string[]): string | undefined =>
  lines.findLast(isReport)?.trim();
