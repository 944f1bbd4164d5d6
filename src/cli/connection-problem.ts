/** Why two ends do not come to speak HTTP with each other, though there is somebody at the address. */
export interface ConnectionProblem {
  message: string;
  hint: string;
}

const MAX_CAUSES = 5;
/** Of the TLS library: what came is no TLS. */
const NO_TLS = new Set(["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG", "EPROTO"]);
/** Of Node's HTTP client: its error's name, since not every one of them has a code. */
const NO_HTTP = "HTTPParserError";
/** Of Node: a certificate that it does not trust. */
const CERTIFICATE =
  /^(?:CERT_|ERR_TLS_CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_|UNABLE_TO_(?:VERIFY|GET)_)/;

/** `url` is the server's. null: it is nothing of the kind. */
export function connectionProblem(error: Error, url: string): ConnectionProblem | null {
  const code = systemCode(error);
  if (code === null) return null;
  const isTls = url.startsWith("https:");
  if (isTls && NO_TLS.has(code)) {
    return {
      message: `what answers at ${url} does not speak TLS (${code})`,
      hint: "is it a plain server? then its URL begins with http://",
    };
  }
  if (isTls && CERTIFICATE.test(code)) {
    return {
      message: `the certificate of ${url} is not trusted (${code})`,
      hint: "NODE_EXTRA_CA_CERTS names a file with further authorities",
    };
  }
  if (!isTls && (code.startsWith("HPE_") || code === NO_HTTP)) {
    return {
      message: `what answers at ${url} does not speak HTTP (${code})`,
      hint: "is it a TLS server? then its URL begins with https://",
    };
  }
  return null;
}

function systemCode(error: Error): string | null {
  let at: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && at instanceof Error; depth += 1) {
    if ("code" in at && typeof at.code === "string") return at.code;
    if (at.name === NO_HTTP) return NO_HTTP;
    at = at.cause;
  }
  return null;
}
