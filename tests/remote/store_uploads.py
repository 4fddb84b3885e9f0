"""What the store of store.py does with requests that write: objects by one request and in parts, with conditions. It was written from AWS's
reference ("PutObject", "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "AbortMultipartUpload", "ListMultipartUploads").
"""
import base64
import hashlib
import re
import time
import xml.etree.ElementTree as xml
from urllib.parse import quote, unquote
from xml.sax.saxutils import escape

SPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"
PART_MIN = 5 << 20  # of all parts but the last
DOCUMENT = '<?xml version="1.0" encoding="UTF-8"?>\n<{0} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{1}</{0}>'


class Upload:
    def __init__(self, bucket, key):
        self.bucket, self.key, self.parts, self.begun = bucket, key, {}, time.time()


class Uploads:
    """A part of the handler. The classes Object and Refused are those of store.py."""

    def answer_write(self, asked, bucket, key):
        query = {unquote(part.partition("=")[0]): unquote(part.partition("=")[2]) for part in asked.query.split("&") if part}
        form = asked.method, *sorted(query)
        answers = {("PUT",): self.put_object, ("DELETE",): self.delete_object, ("POST", "uploads"): self.create_upload,
                   ("PUT", "partNumber", "uploadId"): self.put_part, ("POST", "uploadId"): self.complete_upload,
                   ("DELETE", "uploadId"): self.abort_upload}
        if form not in answers or not key:
            raise self.refused(400, "InvalidRequest", f"!no such request: {form}")
        self.compare_digest(asked, bucket)
        with self.server.lock:
            status, headers, body = answers[form](asked, bucket, key, query)
        self.send(status, headers, body)

    def compare_digest(self, asked, bucket):
        """A bucket with Object Lock takes no object and no part without a digest."""
        given = asked.headers.get("content-md5")
        if given is not None and given != base64.b64encode(hashlib.md5(self.body).digest()).decode():
            raise self.refused(400, "BadDigest", "!The Content-MD5 you specified did not match what we received.")
        if given is None and asked.method == "PUT" and bucket in self.server.locked:
            raise self.refused(400, "InvalidRequest", "!Content-MD5 OR x-amz-checksum- HTTP header is required for Put Part requests with Object Lock parameters")

    def compare(self, asked, bucket, key, ignored=""):
        """Refuses a write whose condition is not met."""
        there, match, none = self.server.buckets[bucket].get(key), asked.headers.get("if-match"), asked.headers.get("if-none-match")
        if (match or none) and "all" in self.server.ignored:
            raise self.refused(501, "NotImplemented", "A header you provided implies functionality that is not implemented")
        if none is not None and none != "*":
            raise self.refused(400, "InvalidArgument", "!If-None-Match has another value than *")
        if none and there and "If-None-Match" not in self.server.ignored and ignored not in self.server.ignored:
            raise self.refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold", Condition="If-None-Match")
        if match and "If-Match" not in self.server.ignored:
            if not there:
                raise self.refused(404, "NoSuchKey", "The specified key does not exist.")
            if there.tag != match:
                raise self.refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold", Condition="If-Match")

    def put_object(self, asked, bucket, key, _):
        self.compare(asked, bucket, key)
        there = self.object(self.body)
        there.modified = self.date_time_string()
        self.server.buckets[bucket][key] = there
        return 200, {"ETag": there.tag}, b""

    def delete_object(self, _, bucket, key, __):
        self.server.buckets[bucket].pop(key, None)
        return 204, {}, b""

    def create_upload(self, _, bucket, key, __):
        if self.body:
            raise self.refused(400, "InvalidRequest", "!a body where none is")
        name = f"upload+/{len(self.server.begun)}=&x"
        self.server.begun.append(key)
        self.server.uploads[name] = Upload(bucket, key)
        inside = f"<Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><UploadId>{escape(name)}</UploadId>"
        return 200, {}, DOCUMENT.format("InitiateMultipartUploadResult", inside).encode()

    def find_upload(self, bucket, key, query):
        upload = self.server.uploads.get(query["uploadId"])
        if not upload or (upload.bucket, upload.key) != (bucket, key):
            raise self.refused(404, "NoSuchUpload", "The specified multipart upload does not exist.")
        return upload

    def put_part(self, asked, bucket, key, query):
        upload = self.find_upload(bucket, key, query)
        if not re.fullmatch("[1-9][0-9]{0,4}", query["partNumber"]) or int(query["partNumber"]) > 10_000:
            raise self.refused(400, "InvalidArgument", "!Part number must be an integer between 1 and 10000, inclusive")
        if "if-none-match" in asked.headers or "if-match" in asked.headers:
            raise self.refused(501, "NotImplemented", "!parts have no conditions")
        tag = f'"{hashlib.md5(self.body).hexdigest()}"'
        upload.parts[int(query["partNumber"])] = tag, self.body
        return 200, {"ETag": tag}, b""

    def complete_upload(self, asked, bucket, key, query):
        upload, chosen = self.find_upload(bucket, key, query), []
        try:
            for part in xml.fromstring(self.body).findall(SPACE + "Part"):
                number, tag = int(part.findtext(SPACE + "PartNumber")), part.findtext(SPACE + "ETag")
                if number not in upload.parts or upload.parts[number][0] != tag:
                    raise self.refused(400, "InvalidPart", f"!part {number} is not here")
                chosen.append((number, *upload.parts[number]))
        except (xml.ParseError, TypeError, ValueError) as error:
            raise self.refused(400, "MalformedXML", f"!{error}") from error
        if not chosen or [number for number, *_ in chosen] != sorted({number for number, *_ in chosen}):
            raise self.refused(400, "InvalidPartOrder", "!parts are not in order")
        if any(len(data) < PART_MIN for *_, data in chosen[:-1]):
            raise self.refused(400, "EntityTooSmall", "!a part is smaller than the minimum")
        self.compare(asked, bucket, key, "completion")
        tags = b"".join(bytes.fromhex(tag.strip('"')) for _, tag, _ in chosen)
        there = self.object(b"".join(data for *_, data in chosen), f'"{hashlib.md5(tags).hexdigest()}-{len(chosen)}"')
        there.modified = self.date_time_string()
        self.server.buckets[bucket][key] = there
        del self.server.uploads[query["uploadId"]]
        inside = f"<Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><ETag>{escape(there.tag, {chr(34): '&quot;'})}</ETag>"
        return 200, {}, DOCUMENT.format("CompleteMultipartUploadResult", inside).encode()

    def abort_upload(self, _, bucket, key, query):
        self.find_upload(bucket, key, query)
        del self.server.uploads[query["uploadId"]]
        return 204, {}, b""

    def answer_uploads(self, bucket, query):
        """The list of uploads that were begun, a page at a time."""
        prefix, place = query.get("prefix", ""), (query.get("key-marker", ""), query.get("upload-id-marker", ""))
        found = sorted((one.key, name) for name, one in self.server.uploads.items() if one.bucket == bucket and one.key.startswith(prefix))
        if place[0] and not self.server.endless:
            found = [one for one in found if one > place] if place[1] else [one for one in found if one[0] > place[0]]
        page, more = found[:self.server.page], len(found) > self.server.page
        if self.server.endless:
            page, more = found[:1], True
        encode = (lambda text: quote(text, safe="/-_.*").replace("%20", "+")) if query.get("encoding-type") == "url" else escape
        inside = [f"<Bucket>{bucket}</Bucket><IsTruncated>{'true' if more else 'false'}</IsTruncated>"]
        if more:
            inside.append(f"<NextKeyMarker>{encode(page[-1][0])}</NextKeyMarker><NextUploadIdMarker>{escape(page[-1][1])}</NextUploadIdMarker>")
        for key, name in page:
            begun = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.server.uploads[name].begun))
            inside.append(f"<Upload><Key>{encode(key)}</Key><UploadId>{escape(name)}</UploadId><Owner><ID>o</ID></Owner><Initiated>{begun}</Initiated>"
                          "</Upload>")
        if "encoding-type" in query:
            inside.append("<EncodingType>url</EncodingType>")
        self.send(200, {"Content-Type": "application/xml"}, DOCUMENT.format("ListMultipartUploadsResult", "".join(inside)).encode())
