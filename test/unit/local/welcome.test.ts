import { expect, test } from "vitest";
import { welcome } from "../../../src/local/welcome.ts";

function lines(dataDir: string): string[] {
  const text = welcome({
    version: "1.2.3",
    url: "http://127.0.0.1:1",
    tenants: ["acme", "demo"],
    dataDir,
    token: "t",
    tokenPath: `${dataDir}/token`,
  });
  return text.split("\n").filter((line) => line.startsWith("curl "));
}

test("the lines to paste use the first tenant that there is", () => {
  expect(lines("/data")).toHaveLength(3);
  for (const line of lines("/data"))
    expect(line).toContain("http://127.0.0.1:1/v1/tenants/acme/topics/orders");
});

test("a folder that the shell would split or expand is quoted", () => {
  const [publish, receive] = lines("/my $data/it's");
  expect(publish).toContain(`"authorization: Bearer $(cat '/my $data/it'\\''s/token')"`);
  expect(receive).toContain(`| tee '/my $data/it'\\''s/reply.json'`);
});
