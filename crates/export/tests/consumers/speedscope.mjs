// Checks a file against the JSON schema that speedscope publishes.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import Ajv from "ajv";

const schemaPath = createRequire(import.meta.url).resolve("speedscope/dist/release/file-format-schema.json");
const validate = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(schemaPath, "utf8")));
const file = JSON.parse(readFileSync(process.argv[2], "utf8"));
if (!validate(file)) {
  console.error(JSON.stringify(validate.errors, null, 2));
  process.exit(1);
}
console.log(`valid: ${file.profiles.length} profiles`);
