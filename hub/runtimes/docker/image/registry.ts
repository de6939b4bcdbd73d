/** Output of npm, or of an install script, if a server did not answer or was overloaded. */
const npm =
  /npm error .*\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ECONNABORTED|ETIMEDOUT|ESOCKETTIMEDOUT|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|ENETUNREACH|EHOSTUNREACH|E429|E5\d\d)\b|npm error network /;

/**
 * Output of pip if its index did not answer: retries, then the message that the package does not exist. Without the
 * latter a retry succeeded, and pip failed for another reason.
 */
const pipRetries =
  /after connection broken by|Temporary failure in name resolution|Max retries exceeded/;
const pipEnds =
  /No matching distribution found|Max retries exceeded|Read timed out|ConnectionError|HTTP error 5\d\d|5\d\d Server Error/;

/** Messages of the engine, which is written in Go, if a registry did not answer. */
const engine =
  /dial tcp|dial udp|no such host|server misbehaving|i\/o timeout|TLS handshake timeout|connection (refused|reset by peer|timed out)|network is unreachable|no route to host|deadline exceeded|Client\.Timeout exceeded|request canceled while waiting|unexpected EOF|": EOF$|toomanyrequests|HTTP status:? 5\d\d|\b50[234] (Bad Gateway|Service Unavailable|Gateway Time-?out)/i;

/** True if the installer could not reach its registry, so a retry may succeed. */
export function isInstallerCutOff(output: string): boolean {
  return npm.test(output) || (pipRetries.test(output) && pipEnds.test(output));
}

/** True if the engine could not reach the registry of an image. */
export function isEngineCutOff(words: string): boolean {
  return engine.test(words);
}

/** True if the registry has no package of that name. */
export const isPackageAbsent = (output: string): boolean =>
  /npm error code E404|\(from versions: none\)/.test(output);
