"""A server of S3 on the loopback interface that recomputes every signature, and in small the Hugging Face Hub, the services that
give credentials to instances, containers, roles and users of single sign-on, and a web server. What it does was written from AWS's
documentation ("Authenticating Requests: Using the Authorization Header", "ListObjectsV2", "Error responses", "AssumeRole",
"AssumeRoleWithWebIdentity", "GetRoleCredentials"), not from the client that it tests.

    with Store() as store:
        store.put("bucket", "a/b.txt", b"...")
        store.url       # the endpoint

store.fault: a function of a Request that names what goes wrong with it, or None; see Handler.answer_object. store.unheard: one that is
called when a request with the fault "lost" is done, before its connection breaks. store.requests: all of them. store.complaints: why
signatures were refused, for tests in which none may be. store.reversed: lists of objects go backwards, as of stores that have no order.
"""
import base64
import collections
import datetime
import email.utils
import hashlib
import hmac
import http.server
import io
import json
import re
import socket
import socketserver
import ssl
import threading
import time
from urllib.parse import parse_qsl, quote, unquote
from xml.sax.saxutils import escape

from store_uploads import Uploads

SKEW = 15 * 60
RESERVED = "-_.~"  # beside letters and digits: what is not encoded

Request = collections.namedtuple("Request", "number method path query headers connection")


class Refused(Exception):
    """An answer that is an error of S3: status, code, message, and further elements."""

    def __init__(self, status, code, message="", headers=None, **more):
        super().__init__(code)
        self.status, self.code, self.message, self.headers, self.more = status, code, message, headers or {}, more


class Object:
    def __init__(self, data, tag=None, redirect=None):
        self.data, self.redirect = data, redirect
        self.tag = tag if tag is not None else f'"{hashlib.md5(data).hexdigest()}"'
        self.modified = email.utils.formatdate(1700000000, usegmt=True)  # of objects that were written: when that was


def derived(secret, *parts):
    key = ("AWS4" + secret).encode()
    for part in parts:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


class Handler(Uploads, http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    object, refused = Object, Refused

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        """The store's clock, for the header Date."""
        return email.utils.formatdate((timestamp or time.time()) + self.server.skew, usegmt=True)

    def send_header(self, keyword, value):
        if keyword not in self.server.untold:
            super().send_header(keyword, value)

    def setup(self):
        super().setup()
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.server.lock:
            self.server.connections += 1
            self.server.open += 1
            self.number = self.server.connections

    def finish(self):
        try:
            super().finish()
        finally:
            with self.server.lock:
                self.server.open -= 1

    # --- answers ----------------------------------------------------------------------------------------------------

    def send(self, status, headers, body=b"", length=None):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, refused):
        more = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in refused.more.items())
        body = (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{refused.code}</Code><Message>{escape(refused.message)}</Message>'
                f"{more}<RequestId>1</RequestId></Error>")
        self.send(refused.status, {"Content-Type": "application/xml", **refused.headers}, body.encode())

    def do_GET(self):
        path, _, query = self.path.partition("?")
        with self.server.lock:
            asked = Request(len(self.server.requests) + 1, self.command, path, query, {k.lower(): v for k, v in self.headers.items()},
                            self.number)
            self.server.requests.append(asked)
        try:
            time.sleep(self.server.latency)
            fault = self.server.fault(asked) if self.server.fault else None
            if fault in ("half", "unread"):  # in the middle of the body, without and with an answer
                return self.answer_early(fault)
            self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if len(self.body) < int(self.headers.get("Content-Length", 0)):
                raise ConnectionResetError  # a client that was killed: what it sent is no request
            if (fault or "").startswith("lost"):  # it is done, and the answer does not arrive; "lost status 500": but another one
                self.route_unheard(asked)
                if self.server.unheard:
                    self.server.unheard(asked)
                fault = fault.partition(" ")[2] or "reset"
            if self.answer_fault(fault):
                return
            self.route(asked, fault)
            self.close_connection = self.close_connection or fault == "closes"  # without having said so
        except Refused as refused:
            if refused.code == "SignatureDoesNotMatch" or refused.message.startswith("!"):
                self.server.complaints.append(refused.message)
            self.refuse(refused)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def answer_early(self, fault):
        self.close_connection = True
        self.rfile.read(int(self.headers.get("Content-Length", 0)) // 2)
        if fault == "unread":
            self.refuse(Refused(503, "SlowDown", "Please reduce your request rate."))
        self.connection.shutdown(socket.SHUT_RDWR)

    def route_unheard(self, asked):
        heard, self.wfile = self.wfile, io.BytesIO()
        try:
            self.route(asked, None)
        except Refused:
            pass
        finally:
            self.wfile = heard

    def answer_fault(self, fault):
        """Answers without looking at the request. False: the fault is none of these."""
        name, _, value = (fault or "").partition(" ")
        if name == "status":  # "status 503 1": with Retry-After
            status, _, wait = value.partition(" ")
            self.send(int(status), {"Retry-After": wait} if wait else {}, b"busy" if self.command != "HEAD" else b"")
        elif name == "error":  # "error 400 Code"
            status, code = value.split(" ")
            self.refuse(Refused(int(status), code, "it is refused"))
        elif name == "inner":  # an error within a good answer
            body = f'<?xml version="1.0" encoding="UTF-8"?>\n\n<Error><Code>{value}</Code><Message>it is refused</Message></Error>'
            self.send(200, {"Content-Type": "application/xml"}, body.encode())
        elif name == "redirect":
            self.send(302, {"Location": value})
        elif name == "reset":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif name == "headers":  # they do not end
            self.close_connection = True
            self.send_response(200)
            for i in range(20000):
                self.send_header(f"X-Header-{i}", "x" * 100)
            self.end_headers()
        elif name == "nonsense":
            self.close_connection = True
            self.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        elif name == "silence":
            self.server.stopped.wait(float(value))
            self.close_connection = True
        else:
            return False
        return True

    def route(self, asked, fault):
        server, path = self.server, asked.path
        if path == "/sts/":
            return self.answer_sts(asked)
        if path == "/sso/federation/credentials":
            return self.answer_sso(asked)
        if path.startswith("/latest/") or path == "/container":
            return self.answer_metadata(asked)
        if path.startswith(("/datasets/", "/api/datasets/")) and "datasets" not in server.buckets:
            return self.answer_hub(asked, fault)
        if path.startswith("/web/"):
            name = unquote(path[len("/web/"):])
            if name not in server.files:
                return self.send(404, {}, b"not found")
            return self.answer_object(asked, server.files[name], fault)
        parts = unquote(path).lstrip("/").split("/", 1)
        bucket, key = parts[0], parts[1] if len(parts) > 1 else ""
        region = self.authenticate(asked, bucket)
        if bucket not in server.buckets:
            raise Refused(404, "NoSuchBucket", "The specified bucket does not exist")
        own = server.regions.get(bucket, server.region)
        if region and region != own:
            raise self.wrong_region(region, own)
        if asked.method in ("PUT", "POST", "DELETE"):
            return self.answer_write(asked, bucket, key)
        if not key and "uploads=" in asked.query.split("&"):
            query = {unquote(part.partition("=")[0]): unquote(part.partition("=")[2]) for part in asked.query.split("&")}
            return self.answer_uploads(bucket, query)
        if not key:
            return self.answer_listing(asked, dict(server.buckets[bucket]))  # as it is now: others may write
        item = server.buckets[bucket].get(key)
        if item is None:
            raise Refused(404, "NoSuchKey", "The specified key does not exist.")
        return self.answer_object(asked, item, fault)

    def wrong_region(self, region, own):
        """The ways in which stores say it."""
        way = self.server.region_way
        if way == "header":
            return Refused(301, "PermanentRedirect", "use another endpoint", {"x-amz-bucket-region": own})
        if way == "body":
            return Refused(400, "AuthorizationHeaderMalformed", f"the region '{region}' is wrong; expecting '{own}'", Region=own)
        if way == "silent":
            return Refused(400, "AuthorizationHeaderMalformed", "the region is wrong")
        return Refused(301, "PermanentRedirect", "", {"Location": f"http://127.0.0.1:1/{own}"})

    # --- signatures -------------------------------------------------------------------------------------------------

    def authenticate(self, asked, bucket, service="s3"):
        """Compares the signature with its own; gives the region that was signed for, or None for a public bucket."""
        server = self.server
        given = asked.headers.get("authorization")
        if given is None:
            if bucket in server.public:
                return None
            raise Refused(403, "AccessDenied", "Access Denied")
        form = re.fullmatch(rf"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{{8}})/([^/]+)/{service}/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?"
                            r"Signature=([0-9a-f]{64})", given)
        if not form:
            raise Refused(400, "AuthorizationHeaderMalformed", "!the header Authorization is malformed: " + given)
        access, day, region, signed, signature = form.groups()
        if access not in server.keys:
            raise Refused(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
        secret, token = server.keys[access]
        names = signed.split(";")
        for name in asked.headers:
            if (name == "host" or name.startswith("x-amz-")) and name not in names:
                raise Refused(403, "AccessDenied", f"!the header {name} is not signed")
        if names != sorted(names) or "host" not in names:
            raise Refused(403, "AccessDenied", "!signed headers are not in order")
        payload = asked.headers.get("x-amz-content-sha256")
        if service == "s3" and (payload is None or (payload == "UNSIGNED-PAYLOAD" and not server.is_secure)):
            raise Refused(400, "InvalidRequest", "!Missing required header for this request: x-amz-content-sha256")
        if payload not in (None, hashlib.sha256(self.body).hexdigest(), "UNSIGNED-PAYLOAD"):
            raise Refused(400, "XAmzContentSHA256Mismatch", "!The provided 'x-amz-content-sha256' header does not match what was computed.")
        date = asked.headers.get("x-amz-date", "")
        when = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc).timestamp()
        if date[:8] != day:
            raise Refused(403, "AccessDenied", "!another day in the credential")
        if abs(when - time.time() - server.skew) > SKEW:
            raise Refused(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")
        if self.expected(asked, names, date, region, secret, service) != signature:
            raise Refused(403, "SignatureDoesNotMatch", "The request signature we calculated does not match: " + self.path)
        if token is not None and access in server.expired:
            raise Refused(400, "ExpiredToken", "The provided token has expired.")
        if asked.headers.get("x-amz-security-token") != token:
            raise Refused(403, "InvalidToken", "The provided token is malformed or otherwise invalid.")
        if bucket in server.denied:
            raise Refused(403, "AccessDenied", "Access Denied")
        return region

    def expected(self, asked, names, date, region, secret, service):
        """The signature, computed of what arrived."""
        parameters = []
        for part in asked.query.split("&") if asked.query else []:
            name, _, value = part.partition("=")
            # A plus stands for itself in a URL that is signed; a client that meant a space would be refused.
            parameters.append((quote(unquote(name), safe=RESERVED), quote(unquote(value), safe=RESERVED)))
        query = "&".join(f"{name}={value}" for name, value in sorted(parameters))
        path = quote(unquote(asked.path, "latin-1").encode("latin-1"), safe=RESERVED + "/")
        headers = "".join(f"{name}:{' '.join(asked.headers[name].split())}\n" for name in names)
        content = asked.headers.get("x-amz-content-sha256", hashlib.sha256(self.body).hexdigest())
        canonical = "\n".join([asked.method, path, query, headers, ";".join(names), content])
        scope = f"{date[:8]}/{region}/{service}/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        return hmac.new(derived(secret, date[:8], region, service, "aws4_request"), text.encode(), hashlib.sha256).hexdigest()

    # --- objects ----------------------------------------------------------------------------------------------------

    def asked_range(self, asked, size):
        """Begin and end of the requested range, or None."""
        form = re.fullmatch(r"bytes=(\d+)-(\d*)", asked.headers.get("range", ""))
        if not form:
            return None
        begin, end = int(form[1]), min(int(form[2]) + 1, size) if form[2] else size
        if begin >= size:
            raise Refused(416, "InvalidRange", "", {"Content-Range": f"bytes */{size}"})
        return begin, end

    def answer_object(self, asked, item, fault):
        name, _, value = (fault or "").partition(" ")
        if item.redirect:
            return self.send(302, {"Location": item.redirect})
        match = asked.headers.get("if-match")
        if match is not None and match != item.tag:
            raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
        wanted = self.asked_range(asked, len(item.data)) if name != "whole" and self.server.ranges else None
        begin, end = wanted or (0, len(item.data))
        body = item.data[begin:end]
        headers = {"Accept-Ranges": "bytes", "ETag": item.tag, "Last-Modified": item.modified}
        if not item.tag:
            del headers["ETag"]
        if name == "nameless":
            headers = {}
        if name == "moved":  # another time
            headers["Last-Modified"] = email.utils.formatdate(0, usegmt=True)
        if name == "tag":  # another one, as after a change that If-Match did not notice
            headers["ETag"] = '"another"'
        if wanted:
            shift = int(value) if name == "shift" else 0
            total = len(item.data) + (int(value) if name == "total" else 0)
            headers["Content-Range"] = f"bytes {begin + shift}-{end - 1 + shift}/{total}"
        if name == "unranged":  # a part without Content-Range
            del headers["Content-Range"]
        status = int(name) if name in ("200", "204") else 206 if wanted else 200
        length = len(body)
        if name == "length":  # a false one
            length += int(value)
            self.close_connection = True
        if name == "more":  # more bytes than there should be, without a length
            return self.answer_open(status, headers, body + b"x" * int(value))
        if name == "open":  # without a length, and cut
            return self.answer_open(status, headers, body[:int(value)])
        if name == "cut":
            self.close_connection = True
            body = body[:int(value)]
        self.send_response(status)
        for header, text in headers.items():
            self.send_header(header, text)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.command != "HEAD":
            self.answer_body(body, name, value)

    def answer_open(self, status, headers, body):
        self.close_connection = True
        self.send_response(status)
        for header, text in headers.items():
            self.send_header(header, text)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def answer_body(self, body, name, value):
        if name == "stall":  # nothing comes after so many bytes
            self.close_connection = True
            self.wfile.write(body[:int(value)])
            self.server.stopped.wait(30)
        elif name == "slow":  # in so many parts
            step = max(1, len(body) // int(value))
            for at in range(0, len(body), step):
                self.wfile.write(body[at:at + step])
                time.sleep(0.05)
        else:
            self.wfile.write(body)

    # --- listings ---------------------------------------------------------------------------------------------------

    def answer_listing(self, asked, bucket):
        query = {unquote(part.partition("=")[0]): unquote(part.partition("=")[2]) for part in asked.query.split("&")}
        if query.get("list-type") != "2":
            raise Refused(400, "InvalidArgument", "!only ListObjectsV2 is here")
        keys = sorted((key for key in bucket if key.startswith(query.get("prefix", ""))), reverse=self.server.reversed)
        keys = self.server.listed(keys) if self.server.listed else keys
        token = query.get("continuation-token")
        last = base64.b64decode(token).decode().split(":", 1)[1] if token and not self.server.endless else None
        if last is not None:  # a list goes on after the last key, though others are gone meanwhile
            keys = [key for key in keys if (key < last if self.server.reversed else key > last)]
        most = min(int(query.get("max-keys", 1000)), self.server.page)
        page, more = keys[:most], most < len(keys) or self.server.endless
        encode = (lambda text: quote(text, safe="/-_.*").replace("%20", "+")) if query.get("encoding-type") == "url" else escape
        following = base64.b64encode(f"next+/:{page[-1] if page else ''}".encode()).decode()
        parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                 f"<Name>bucket</Name><Prefix>{encode(query.get('prefix', ''))}</Prefix><KeyCount>{len(page)}</KeyCount>"
                 f"<MaxKeys>{most}</MaxKeys><IsTruncated>{'true' if more else 'false'}</IsTruncated>"]
        if more:
            parts.append(f"<NextContinuationToken>{following}</NextContinuationToken>")
        for key in page:
            item = bucket[key]
            parts.append(f"<Contents><Key>{encode(key)}</Key><LastModified>2026-11-29T00:00:00.000Z</LastModified>"
                         f"<ETag>{escape(item.tag, {chr(34): '&quot;'})}</ETag><Size>{len(item.data)}</Size>"
                         "<StorageClass>STANDARD</StorageClass></Contents>")
        if "encoding-type" in query:
            parts.append("<EncodingType>url</EncodingType>")
        self.send(200, {"Content-Type": "application/xml"}, "".join(parts + ["</ListBucketResult>"]).encode())

    # --- credentials of machines ------------------------------------------------------------------------------------

    def answer_metadata(self, asked):
        server = self.server
        if asked.path == "/latest/api/token":
            if asked.method != "PUT" or not asked.headers.get("x-aws-ec2-metadata-token-ttl-seconds", "").isdigit():
                return self.send(400, {})
            return self.send(200, {}, b"session-token==")
        if asked.path == "/container":
            known = asked.headers.get("authorization") == "container-token"
        else:
            known = asked.headers.get("x-aws-ec2-metadata-token") == "session-token=="
        if not known or not server.role:
            return self.send(401 if not known else 404, {})
        if asked.path == "/latest/meta-data/iam/security-credentials/":
            return self.send(200, {}, b"my role")
        if asked.path not in ("/latest/meta-data/iam/security-credentials/my%20role", "/container"):
            return self.send(404, {})
        access = server.role.pop(0) if len(server.role) > 1 else server.role[0]
        secret, token = server.keys[access]
        return self.send(200, {}, json.dumps({"Code": "Success", "AccessKeyId": access, "SecretAccessKey": secret, "Token": token,
                                              "Expiration": "2099-01-01T00:00:00Z"}).encode())

    def answer_sts(self, asked):
        """The service of tokens: the role must be known, and who asks must be allowed to assume it."""
        server = self.server
        form = dict(parse_qsl(self.body.decode(), strict_parsing=True))
        server.forms.append(form)
        try:
            if asked.method != "POST" or asked.headers.get("content-type") != "application/x-www-form-urlencoded" or form["Version"] != "2011-06-15":
                raise Refused(400, "InvalidAction", "!no request to STS")
            role = server.roles.get(form["RoleArn"])
            if not re.fullmatch(r"[\w+=,.@-]{2,64}", form["RoleSessionName"]):
                raise Refused(400, "ValidationError", "!RoleSessionName")
            if form["Action"] == "AssumeRole":
                self.authenticate(asked, None, "sts")
                who = re.search("Credential=([^/]+)", asked.headers["authorization"])[1]
                if not role or who not in role["by"] or form.get("ExternalId") != role.get("external"):
                    raise Refused(403, "AccessDenied", f"User: {who} is not authorized to perform: sts:AssumeRole on resource: {form['RoleArn']}")
            elif form["Action"] == "AssumeRoleWithWebIdentity":
                if "authorization" in asked.headers:
                    raise Refused(400, "InvalidAction", "!a signature where none belongs")
                if form["WebIdentityToken"] != server.web_token:
                    raise Refused(400, "ExpiredTokenException", "Token expired: current date/time must be before the expiration date/time")
                if not role or "web" not in role["by"]:
                    raise Refused(403, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity")
            else:
                raise Refused(400, "InvalidAction", "!" + form["Action"])
        except Refused as refused:
            if refused.code == "SignatureDoesNotMatch" or refused.message.startswith("!"):
                server.complaints.append(refused.message)
            return self.send(refused.status, {"Content-Type": "text/xml"}, (
                '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">\n  <Error>\n    <Type>Sender</Type>\n'
                f"    <Code>{refused.code}</Code>\n    <Message>{escape(refused.message)}</Message>\n  </Error>\n"
                "  <RequestId>1</RequestId>\n</ErrorResponse>\n").encode())
        access = role["keys"].pop(0) if len(role["keys"]) > 1 else role["keys"][0]
        secret, token = server.keys[access]
        end = datetime.datetime.fromtimestamp(time.time() + role.get("seconds", 3600), datetime.timezone.utc)
        action = form["Action"]
        self.send(200, {"Content-Type": "text/xml"}, (
            f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">\n  <{action}Result>\n    <AssumedRoleUser>\n'
            f"      <AssumedRoleId>AROA:x</AssumedRoleId>\n      <Arn>{form['RoleArn']}</Arn>\n    </AssumedRoleUser>\n    <Credentials>\n"
            f"      <AccessKeyId>{access}</AccessKeyId>\n      <SecretAccessKey>{escape(secret)}</SecretAccessKey>\n"
            f"      <SessionToken>{escape(token)}</SessionToken>\n      <Expiration>{end:%Y-%m-%dT%H:%M:%SZ}</Expiration>\n"
            f"    </Credentials>\n  </{action}Result>\n  <ResponseMetadata>\n    <RequestId>1</RequestId>\n  </ResponseMetadata>\n"
            f"</{action}Response>\n").encode())

    def answer_sso(self, asked):
        """Single sign-on: keys of the role "reader" of an account, for who has logged in."""
        query = dict(parse_qsl(asked.query))
        if asked.headers.get("x-amz-sso_bearer_token") != "sso-session-token":
            return self.send(401, {}, b'{"message": "Session token not found or invalid"}')
        if query != {"account_id": "123456789012", "role_name": "reader"}:
            return self.send(403, {}, b'{"message": "No access"}')
        secret, token = self.server.keys["AKTOKEN"]
        self.send(200, {"Content-Type": "application/json"}, json.dumps({"roleCredentials": {
            "accessKeyId": "AKTOKEN", "secretAccessKey": secret, "sessionToken": token, "expiration": int(time.time() + 3600) * 1000}}).encode())

    # --- Hugging Face Hub -------------------------------------------------------------------------------------------

    def answer_hub(self, asked, fault):
        server = self.server
        form = re.fullmatch(r"(/api)?/(datasets/[^/]+/[^/]+)/(resolve|tree|revision)/([^/]+)(?:/(.*))?", asked.path)
        dataset = server.hub.get(form[2]) if form else None
        token = asked.headers.get("authorization", "").partition("Bearer ")[2]
        if not dataset or (dataset["private"] and token != "hf_right"):
            return self.send(401, {}, b'{"error": "Invalid username or password."}')
        revision, path = unquote(form[4]), unquote(form[5] or "")
        if revision not in (dataset["sha"], *dataset["revisions"]):
            return self.send(404, {}, b'{"error": "Invalid rev id"}')
        if form[3] == "revision":
            return self.send(200, {"Content-Type": "application/json"}, json.dumps({"id": form[2], "sha": dataset["sha"]}).encode())
        if form[3] == "tree":
            return self.answer_tree(asked, dataset, path)
        item = dataset["files"].get(path)
        if item is None:
            return self.send(404, {}, b"Entry not found")
        tag = item.tag.strip('"')
        if dataset["far"]:  # large files lie elsewhere
            far = dataset["far"](path) if callable(dataset["far"]) else dataset["far"] + quote(path)
            return self.send(302, {"Location": far, "X-Linked-Size": str(len(item.data)),
                                   "X-Linked-ETag": f'"{tag}"', "X-Repo-Commit": dataset["sha"]})
        return self.answer_object(asked, item, fault)

    def answer_tree(self, asked, dataset, folder):
        names = [name for name in dataset["files"] if not folder or name.startswith(folder + "/")]
        if not names:
            return self.send(404, {}, b'{"error": "does not exist"}')
        cursor = re.search(r"cursor=(\d+)", asked.query)
        begin = int(cursor[1]) if cursor else 0
        page = names[begin:begin + self.server.page]
        files = [{"type": "directory", "oid": "0" * 40, "size": 0, "path": "data"}] if not begin else []
        for name in page:
            item = dataset["files"][name]
            entry = {"type": "file", "oid": item.tag.strip('"'), "size": len(item.data), "path": name}
            if dataset["far"]:
                entry = {**entry, "oid": "f" * 40, "lfs": {"oid": item.tag.strip('"'), "size": len(item.data), "pointerSize": 134}}
            files.append(entry)
        headers = {"Content-Type": "application/json"}
        if begin + self.server.page < len(names):
            where = self.server.next_page or self.server.url
            headers["Link"] = f'<{where}{asked.path}?recursive=true&cursor={begin + self.server.page}>; rel="next"'
        return self.send(200, headers, json.dumps(files).encode())


class Store(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads, request_queue_size, block_on_close = True, 128, False

    def __init__(self, certificate=None):
        """certificate: the path of a file with a certificate and its key, for https."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.buckets, self.files, self.hub = {}, {}, {}
        self.keys = {"AKTEST": ("se/cret+KEY=", None)}
        self.region, self.regions, self.region_way = "us-east-1", {}, "header"
        self.public, self.denied, self.expired, self.role = set(), set(), set(), []
        # roles: {ARN: {"by": access keys that may assume it, or "web", "keys": access keys that it gives, "external": its id, "seconds"}}
        self.roles, self.web_token, self.forms = {}, "web.identity-token", []
        self.page, self.latency, self.skew, self.endless, self.ranges, self.next_page = 1000, 0.0, 0, False, True, None
        self.uploads, self.begun, self.ignored, self.is_secure = {}, [], set(), certificate is not None
        self.fault, self.unheard, self.requests, self.complaints, self.connections, self.open = None, None, [], [], 0, 0
        self.reversed, self.locked = False, set()  # locked: buckets with Object Lock
        self.untold, self.listed = set(), None  # headers that no answer has; what lists make of the keys: another order, or fewer
        self.lock, self.stopped = threading.Lock(), threading.Event()
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.server_address[1]}"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            # Handshakes are made by the threads of connections, when they first read.
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def put(self, bucket, key, data, **more):
        self.buckets.setdefault(bucket, {})[key] = Object(data, **more)

    def put_file(self, name, data, **more):
        self.files[name] = Object(data, **more)

    def put_dataset(self, name, files, private=False, far=None, revisions=("main",)):
        self.hub[f"datasets/{name}"] = {"sha": "a1" * 20, "files": {path: Object(data) for path, data in files.items()},
                                        "private": private, "far": far, "revisions": revisions}

    def handle_error(self, *_):
        """A client that goes away in the middle is no fault of the server."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.shutdown()
        self.server_close()
