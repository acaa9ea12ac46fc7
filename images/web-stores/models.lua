-- Answers the hub's protocol from files that add_model.py has written: FOLDER/.hub/ORG/NAME has `commit`, `info.json`,
-- `tree.json` and `tags/FILE`, FOLDER/ORG/NAME has the files.
local LISTS = { revision = "/info.json", tree = "/tree.json" }
local r = lighty.r
local folder = r.req_attr["physical.doc-root"]:gsub("/$", "")

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read("a")
  file:close()
  return text and text:gsub("%s+$", "")
end

-- What the hub's library makes its exceptions of.
local function refuse(status, code)
  r.resp_header["X-Error-Code"] = code
  r.resp_header["Content-Type"] = "text/plain"
  r.resp_body:set(code .. "\n")
  return status
end

local method = r.req_attr["request.method"]
if method ~= "GET" and method ~= "HEAD" then return 405 end

local path = r.req_attr["uri.path"]
local token = read(os.getenv("TOKEN_FILE") or "")
if token and token ~= "" and r.req_header["Authorization"] ~= "Bearer " .. token then
  return refuse(401, "GatedRepo")
end

-- `.hub` and whatever else is hidden.
if path:find("/.", 1, true) then return refuse(404, "EntryNotFound") end

local repo, list, revision = path:match("^/api/models/([^/]+/[^/]+)/(%l+)/([^/]+)$")
repo = repo or path:match("^/api/models/([^/]+/[^/]+)$")
list = LISTS[list or "revision"]
local file
if not repo then
  repo, revision, file = path:match("^/([^/]+/[^/]+)/resolve/([^/]+)/(.+)$")
end
local about = repo and folder .. "/.hub/" .. repo
local commit = about and read(about .. "/commit")
if not commit or not list then return refuse(404, "RepoNotFound") end
if revision and revision ~= "main" and revision ~= commit then return refuse(404, "RevisionNotFound") end

r.resp_header["X-Repo-Commit"] = commit
if not file then
  r.resp_header["Content-Type"] = "application/json"
  r.req_attr["physical.path"] = about .. list
  return
end
local tag = read(about .. "/tags/" .. file)
if not tag then return refuse(404, "EntryNotFound") end
r.resp_header["ETag"] = '"' .. tag .. '"'
r.resp_header["X-Linked-Etag"] = '"' .. tag .. '"'
r.req_attr["physical.path"] = folder .. "/" .. repo .. "/" .. file
