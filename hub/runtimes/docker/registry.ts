/** How npm, or an install script under it, ends where something did not answer, or not now. */
const npm =
  /npm error .*\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ECONNABORTED|ETIMEDOUT|ESOCKETTIMEDOUT|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|ENETUNREACH|EHOSTUNREACH|E429|E5\d\d)\b|npm error network /;

/**
 * How pip ends where its index did not answer: it retries, and then says of the package that there is
 * none. Without that end the retries have helped, and it failed for another reason.
 */
const pipRetries =
  /after connection broken by|Temporary failure in name resolution|Max retries exceeded/;
const pipEnds =
  /No matching distribution found|Max retries exceeded|Read timed out|ConnectionError|HTTP error 5\d\d|5\d\d Server Error/;

/** How the engine, which is written in Go, tells that a registry did not answer. */
const engine =
  /dial tcp|dial udp|no such host|server misbehaving|i\/o timeout|TLS handshake timeout|connection (refused|reset by peer|timed out)|network is unreachable|no route to host|deadline exceeded|Client\.Timeout exceeded|request canceled while waiting|unexpected EOF|": EOF$|toomanyrequests|HTTP status:? 5\d\d|\b50[234] (Bad Gateway|Service Unavailable|Gateway Time-?out)/i;

/**
 * True where an installer wrote that its registry could not be reached, so that another try may succeed;
 * false where it answered, and something is wrong with what was asked for.
 */
export function isInstallerCutOff(output: string): boolean {
  return npm.test(output) || (pipRetries.test(output) && pipEnds.test(output));
}

/** The same of what the engine says of an image that it was to pull. */
export function isEngineCutOff(words: string): boolean {
  return engine.test(words);
}

/** True where an installer wrote that its registry has no package of that name. */
export const isPackageAbsent = (output: string): boolean =>
  /npm error code E404|\(from versions: none\)/.test(output);
