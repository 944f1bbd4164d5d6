import { expect, test } from "vitest";
import { checkCredential, isAuthorized } from "../../../src/gateway/credentials.ts";

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

test("the right credentials are let in", () => {
  expect(isAuthorized(basic("app:secret"), "app", "secret")).toBe(true);
  expect(isAuthorized(basic("app:secret").replace("Basic", "basic"), "app", "secret")).toBe(true);
});

test.each([
  ["no header", undefined],
  ["an empty header", ""],
  ["another scheme", "Bearer abc"],
  ["no base64", "Basic §§"],
  ["another password", basic("app:wrong")],
  ["another user", basic("root:secret")],
  ["a password that only begins like it", basic("app:secret2")],
  ["an empty password", basic("app:")],
  ["no colon", basic("app")],
  ["two", `${basic("app:secret")}, ${basic("app:secret")}`],
])("%s is not", (_name, header) => {
  expect(isAuthorized(header, "app", "secret")).toBe(false);
});

test.each(["", "a b", "a:b", "a@b", "a/b", "a%20b", "é"])("%j cannot be a user or password", (text) => {
  expect(() => checkCredential("user", text)).toThrow("user must be of letters");
});

test("what a URL keeps as it is can be", () => {
  expect(() => checkCredential("user", "aZ09-._~")).not.toThrow();
});
