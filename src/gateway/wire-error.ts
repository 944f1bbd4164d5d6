// Errors as PlanetScale words them. Found:
// - The shape of a failed statement's message, and that the body's `code` is "UNKNOWN" even for a duplicate key (the
//   true code is in the message only): a dump of such an error under "Error handling" at planetscale/database-js.
// - Which MySQL error has which code: vitess go/vt/vttablet/tabletserver/tabletserver.go, convertErrorCode.
// - `Row count exceeded 100000`, `transaction pool connection limit exceeded`: PlanetScale's documentation of errors
//   and of system limits.
// - `transaction N: ended at … (exceeded timeout: 20s)`: dumps under "prisma migrate dev fails repeatedly for
//   PlanetScale" and "Prisma unable to handle long transaction with planet scale" at prisma.
// - `(errno 2013) due to context deadline exceeded, elapsed time: …, killing query ID N`: PlanetScale's blog on its
//   hard timeouts.
// - 401 and `{error: {code, message}}` outside 200: the driver's own source.
// Assumed: that every error of a statement has "UNKNOWN" in the body, not only those seen; that a database which cannot
// be reached is `Unavailable` with errno 2002; the words for what Vitess cannot do; names of the codes outside 200,
// which are those of the Connect protocol. Left out: PlanetScale may append `: Sql: "…", BindVars: {REDACTED}`; here no
// SQL leaves by an error. MariaDB names a key `PRIMARY`, MySQL 8 names it `table.PRIMARY`.

/** Vitess's codes in the spelling of its messages. */
export type VitessCode =
  | "Aborted"
  | "AlreadyExists"
  | "Canceled"
  | "DeadlineExceeded"
  | "FailedPrecondition"
  | "InvalidArgument"
  | "NotFound"
  | "PermissionDenied"
  | "ResourceExhausted"
  | "Unavailable"
  | "Unimplemented"
  | "Unknown";

export interface WireError {
  code: string;
  message: string;
}

/** A failure as the MySQL protocol tells it. */
export interface MysqlFailure {
  errno: number;
  sqlState: string;
  message: string;
}

const CODES: readonly (readonly [VitessCode, readonly number[]])[] = [
  ["AlreadyExists", [1050, 1062, 1086, 1125]],
  ["DeadlineExceeded", [1205]],
  ["Aborted", [1078, 1080, 1152, 1213]],
  ["Canceled", [1317, 2013]],
  ["Unavailable", [1053, 2002, 2003, 2006]],
  ["Unimplemented", [1235]],
  ["NotFound", [1029, 1032, 1051, 1054, 1094, 1109, 1122, 1141, 1146, 1147, 1176]],
  ["PermissionDenied", [1044, 1045, 1095, 1142, 1143, 1211, 1227, 1370]],
  ["ResourceExhausted", [1021, 1037, 1038, 1040, 1041, 1114, 1129, 1135, 1151, 1153, 1203, 1206, 1226]],
  [
    "FailedPrecondition",
    [
      1046, 1082, 1091, 1099, 1100, 1104, 1148, 1162, 1165, 1169, 1173, 1179, 1207, 1215, 1216, 1217, 1223,
    ].concat([1230, 1241, 1242, 1264, 1288, 1289, 1290, 1291, 1451, 1452]),
  ],
  [
    "InvalidArgument",
    [
      1047, 1048, 1049, 1052, 1055, 1056, 1057, 1058, 1059, 1060, 1061, 1063, 1064, 1065, 1066, 1067, 1068,
      1069,
    ]
      .concat([
        1070, 1071, 1072, 1073, 1074, 1075, 1090, 1093, 1096, 1101, 1102, 1103, 1110, 1111, 1115, 1116,
      ])
      .concat([
        1117, 1118, 1136, 1138, 1139, 1140, 1149, 1166, 1170, 1171, 1172, 1193, 1204, 1210, 1221, 1222,
      ])
      .concat([
        1225, 1231, 1232, 1233, 1234, 1253, 1267, 1270, 1271, 1273, 1292, 1298, 1300, 1365, 1366, 1406,
      ])
      .concat([1690]),
  ],
];

const CODE_BY_ERRNO = new Map(
  CODES.flatMap(([code, numbers]) => numbers.map((errno) => [errno, code] as const)),
);

/** Names the place and the caller in messages. */
export interface WireOrigin {
  database: string;
  user: string;
}

/** A statement that the database refused or that was lost on the way to it. */
export function mysqlError(origin: WireOrigin, failure: MysqlFailure): WireError {
  const code = CODE_BY_ERRNO.get(failure.errno) ?? "Unknown";
  return tabletError(
    origin,
    code,
    `${failure.message} (errno ${failure.errno}) (sqlstate ${failure.sqlState})`,
  );
}

/** What PlanetScale's tablets would refuse by themselves. */
export function tabletError(origin: WireOrigin, code: VitessCode, description: string): WireError {
  const target = `target: ${origin.database}.-.primary: vttablet`;
  return statementError(
    `${target}: rpc error: code = ${code} desc = ${description} (CallerID: ${origin.user})`,
  );
}

/** What its router would refuse. */
export function statementError(message: string): WireError {
  return { code: "UNKNOWN", message };
}
